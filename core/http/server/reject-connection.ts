import { type Server, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Logger } from 'pino'
import { GatewayError } from '../../contract/index.ts'
import { newRequestId } from '../../util/ids.ts'
import { errorEnvelope } from '../errors.ts'
import type { HttpHeader } from './default-headers.ts'
import { malformedRequestError } from './validate-request.ts'

type RejectConnection = (socket: Duplex, error: GatewayError) => void

/**
 * Ends a connection on which a request cannot be served: with the error as an answer where one can be written, else without.
 * What else the client has sent is not looked at.
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
    logger?.info({ requestId, status: error.status, reason: error.message }, 'refused a connection')
    socket.end(formatResponse(error, [...headers, ['x-request-id', requestId]]), () => socket.destroy())
  }
}

/** Refuses what Node's parser and Node's clocks refuse. */
export function rejectOnClientError(server: Server, refuse: RejectConnection): void {
  server.on('clientError', (error: ParserError, socket) => {
    const refusal = toRejection(error)
    if (refusal === undefined) socket.destroy(error)
    else refuse(socket, refusal)
  })
}

/** The answer under way on a connection. Node keeps it there to the same end, and has no public name for it. */
export function pendingResponse(socket: Duplex): ServerResponse | undefined {
  return (socket as { _httpMessage?: ServerResponse | null })._httpMessage ?? undefined
}

/** Not into the middle of an answer, nor in place of one that is still to come. */
function mayRespond(socket: Duplex): boolean {
  const answer = pendingResponse(socket)
  return answer === undefined || !(answer.headersSent || answer.req.complete)
}

interface ParserError extends Error {
  readonly code?: string
  /** Words of the parser's own, that quote nothing. */
  readonly reason?: string
}

/** Undefined when there is nobody left to answer. */
function toRejection({ code = '', reason }: ParserError): GatewayError | undefined {
  switch (code) {
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new GatewayError('request_timeout', 'The request did not arrive in time.')
    case 'HPE_HEADER_OVERFLOW':
      return new GatewayError('headers_too_large', 'The headers of the request are too large.')
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return new GatewayError('body_too_large', 'The chunk extensions of the request are too large.')
    default:
      return code.startsWith('HPE_') ? malformedRequestError(reason ?? code) : undefined
  }
}

function formatResponse(error: GatewayError, headers: readonly HttpHeader[]): string {
  const body = JSON.stringify(errorEnvelope(error))
  const all: readonly HttpHeader[] = [
    ['connection', 'close'],
    ['content-type', 'application/json; charset=utf-8'],
    ['content-length', String(Buffer.byteLength(body))],
    ...headers,
  ]
  const lines = all.map(([name, value]) => `${name}: ${value}\r\n`)
  return `HTTP/1.1 ${error.status} ${STATUS_CODES[error.status]}\r\n${lines.join('')}\r\n${body}`
}
