import { type Server, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Logger } from 'pino'
import { GatewayError } from '../../contract/index.ts'
import { newRequestId } from '../../util/ids.ts'
import { formatError } from '../errors.ts'
import type { HttpHeader } from './default-headers.ts'
import { malformedRequestError } from './validate-request.ts'

type RejectConnection = (socket: Duplex, error: GatewayError) => void

/**
 * Returns a function that closes a connection whose request cannot be served. It sends the error response
 * first, if the state of the connection allows one. Further data from the client is ignored. See
 * docs/decisions/http.md, "A rejected connection is answered on the bare socket and then ignored".
 */
export function createConnectionRejecter(
  headers: readonly HttpHeader[],
  logger: Logger | undefined,
): RejectConnection {
  return (socket, error) => {
    if (socket.writableEnded || socket.destroyed) return
    if (!mayRespond(socket)) {
      socket.destroy()
      return
    }
    const requestId = newRequestId()
    logger?.info({ requestId, status: error.status, reason: error.message }, 'connection rejected')
    socket.end(formatResponse(error, [...headers, ['x-request-id', requestId]]), () => socket.destroy())
  }
}

/** Rejects connections on parser errors and request timeouts of Node's HTTP server. */
export function rejectOnClientError(server: Server, rejectConnection: RejectConnection): void {
  server.on('clientError', (error: ParserError, socket) => {
    const gatewayError = toGatewayError(error)
    if (gatewayError === undefined) socket.destroy(error)
    else rejectConnection(socket, gatewayError)
  })
}

/**
 * Returns the response in progress on a connection, if any. Reads `_httpMessage`, which Node itself uses for
 * this purpose; there is no public API.
 */
export function pendingResponse(socket: Duplex): ServerResponse | undefined {
  return (socket as { _httpMessage?: ServerResponse | null })._httpMessage ?? undefined
}

/** False if a response has already started, or if a complete request is still waiting for its response. */
function mayRespond(socket: Duplex): boolean {
  const response = pendingResponse(socket)
  return response === undefined || !(response.headersSent || response.req.complete)
}

interface ParserError extends Error {
  readonly code?: string
  /** Fixed text of the parser, which never quotes the request. */
  readonly reason?: string
}

/** Returns undefined if the connection is broken, so that no response can be sent. */
function toGatewayError({ code = '', reason }: ParserError): GatewayError | undefined {
  switch (code) {
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new GatewayError('request_timeout', 'The request was not received completely in time.')
    case 'HPE_HEADER_OVERFLOW':
      return new GatewayError('headers_too_large', 'The request headers are too large.')
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return new GatewayError('body_too_large', 'The chunk extensions of the request body are too large.')
    default:
      return code.startsWith('HPE_') ? malformedRequestError(reason ?? code) : undefined
  }
}

function formatResponse(error: GatewayError, headers: readonly HttpHeader[]): string {
  const body = JSON.stringify(formatError(error))
  const allHeaders: readonly HttpHeader[] = [
    ['connection', 'close'],
    ['content-type', 'application/json; charset=utf-8'],
    ['content-length', String(Buffer.byteLength(body))],
    ...headers,
  ]
  const lines = allHeaders.map(([name, value]) => `${name}: ${value}\r\n`)
  return `HTTP/1.1 ${error.status} ${STATUS_CODES[error.status]}\r\n${lines.join('')}\r\n${body}`
}
