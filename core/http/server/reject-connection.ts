import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Logger } from 'pino'
import { GatewayError } from '../../contract/index.ts'
import { newRequestId } from '../../util/ids.ts'
import { formatError } from '../errors.ts'
import type { HttpHeader } from './default-headers.ts'
import { malformedRequestError } from './validate-request.ts'

export interface ConnectionRejecter {
  /**
   * Closes a connection whose request cannot be served. Sends the error response first, behind the responses
   * of earlier requests. Further requests are ignored. `request` is undefined if it could not be parsed.
   */
  reject(socket: Duplex, error: GatewayError, request?: IncomingMessage): void
  /** True if requests on the connection must not be served. */
  isRejected(socket: Duplex): boolean
}

/** See docs/decisions/http.md, "A rejected connection is answered on the bare socket and then ignored". */
export function createConnectionRejecter(
  headers: readonly HttpHeader[],
  logger: Logger | undefined,
): ConnectionRejecter {
  const rejected = new WeakSet<Duplex>()

  function respond(socket: Duplex, error: GatewayError): void {
    const requestId = newRequestId()
    logger?.info({ requestId, status: error.status, reason: error.message }, 'connection rejected')
    socket.end(formatResponse(error, [...headers, ['x-request-id', requestId]]), () => socket.destroy())
  }

  function respondInTurn(socket: Duplex, error: GatewayError, request: IncomingMessage | undefined): void {
    if (socket.writableEnded || socket.destroyed) return
    const response = pendingResponse(socket)
    if (response === undefined || response.req === request || !isPromised(response)) respond(socket, error)
    // Node assigns the connection to the next response after the event.
    else response.once('close', () => setImmediate(respondInTurn, socket, error, request))
  }

  return {
    isRejected: (socket) => rejected.has(socket),
    reject(socket, error, request) {
      if (rejected.has(socket)) return
      rejected.add(socket)
      respondInTurn(socket, error, request)
    },
  }
}

/** True if a response has started, or if its request is complete and may have been executed. */
function isPromised({ headersSent, req }: ServerResponse): boolean {
  return headersSent || req.complete
}

/** Rejects connections on parser errors and request timeouts of Node's HTTP server. */
export function rejectOnClientError(server: Server, { reject }: ConnectionRejecter): void {
  server.on('clientError', (error: ParserError, socket) => {
    const gatewayError = toGatewayError(error)
    if (gatewayError === undefined) socket.destroy(error)
    else reject(socket, gatewayError)
  })
}

/**
 * Returns the response in progress on a connection, if any. Reads `_httpMessage`, which Node itself uses for
 * this purpose; there is no public API.
 */
export function pendingResponse(socket: Duplex): ServerResponse | undefined {
  return (socket as { _httpMessage?: ServerResponse | null })._httpMessage ?? undefined
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
    ['x-error-code', error.code],
    ...Object.entries(error.details.headers ?? {}),
    ...headers,
  ]
  const lines = allHeaders.map(([name, value]) => `${name}: ${value}\r\n`)
  return `HTTP/1.1 ${error.status} ${STATUS_CODES[error.status]}\r\n${lines.join('')}\r\n${body}`
}
