import { IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Logger } from 'pino'
import { GatewayError } from '../../contract/index.ts'
import { newRequestId } from '../../util/ids.ts'
import { formatError } from '../errors.ts'
import type { HttpHeader } from './default-headers.ts'

/**
 * Checks for ambiguities that Node's parser accepts but that a proxy in front could interpret differently:
 * where the request ends, and which host it is for (request smuggling). Also checks the number of headers.
 * Returns undefined for a valid request. See docs/decisions/http.md, "Node's own timers and parser protect
 * the server; what they accept is checked once more".
 */
export function validateRequest(request: IncomingMessage, maxHeaders: number): GatewayError | undefined {
  const { rawHeaders, httpVersion } = request
  if (rawHeaders.length > 2 * maxHeaders)
    return new GatewayError('headers_too_large', `The request has more than ${maxHeaders} headers.`)
  if (httpVersion !== '1.1' && httpVersion !== '1.0')
    return malformedRequestError('the HTTP version must be 1.1 or 1.0')
  if (httpVersion === '1.0' && namesOtherProtocol(request))
    return malformedRequestError('the protocol must be HTTP')
  const transferEncoding = request.headers['transfer-encoding']
  if (
    transferEncoding !== undefined &&
    (httpVersion === '1.0' || transferEncoding.toLowerCase() !== 'chunked')
  )
    return malformedRequestError('Transfer-Encoding must be chunked, and requires HTTP/1.1')
  const hostCount = countHostHeaders(rawHeaders)
  if (hostCount > 1 || (hostCount === 0 && httpVersion === '1.1'))
    return malformedRequestError('exactly one Host header is required')
  if (!HOST.test(request.headers.host ?? '')) return malformedRequestError('the Host header is not a host')
  if (httpVersion === '1.1' && !isKnownExpectation(request.headers.expect)) {
    const message = 'The Expect header must be 100-continue. Omit it.'
    return new GatewayError('expectation_failed', message)
  }
  return undefined
}

/**
 * True for the request lines of RTSP/1.0 and ICE/1.0, which Node's parser takes for HTTP/1.0 without telling.
 * Reads them in the data that it is parsing; there is no public API. A line that arrived in an earlier packet
 * than the end of the headers is not seen.
 */
function namesOtherProtocol({ socket, url }: IncomingMessage): boolean {
  const { parser } = socket as { parser?: { getCurrentBuffer?(): Buffer | undefined } | null }
  const data = parser?.getCurrentBuffer?.()
  return data !== undefined && OTHER_PROTOCOLS.some((name) => data.includes(`${url} ${name}/1.0\r`))
}

const OTHER_PROTOCOLS = ['RTSP', 'ICE']

/** The characters of a host with a port: RFC 3986, "Authority", without user information. */
const HOST = /^[\w.~%!$&'()*+,;=:[\]-]*$/

function isKnownExpectation(expect: string | undefined): boolean {
  return expect === undefined || expect.toLowerCase() === '100-continue'
}

/** The error for `CONNECT`. */
export function tunnelError(): GatewayError {
  const message = 'The gateway is not a proxy and does not support CONNECT.'
  return new GatewayError('method_not_allowed', message, { headers: { allow: 'GET, POST, PATCH, DELETE' } })
}

/** `reason` is a clause without a full stop. */
export function malformedRequestError(reason: string): GatewayError {
  return new GatewayError('malformed_request', `The request is not valid HTTP: ${reason}.`)
}

/** Counts in the raw headers, because `request.headers` keeps only the first of several Host headers. */
function countHostHeaders(rawHeaders: readonly string[]): number {
  let count = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]
    if (name?.length === 4 && name.toLowerCase() === 'host') count++
  }
  return count
}

interface ConnectionRejecter {
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

/** Whether WebSocket connections are opened at the path. */
type IsSocketPath = (path: string) => boolean

/**
 * Creates the class of requests of a server. If it listens for `upgrade`, Node hands over every request
 * with an Upgrade header, and does not read its body: also those of Java's client, which offers HTTP/2 with
 * each request. This class limits that to WebSockets. The others are answered as if without.
 */
export function createRequestClass(isSocketPath: IsSocketPath): typeof IncomingMessage {
  return class UpgradableRequest extends IncomingMessage {
    declare private isUpgradeRequested: boolean

    get upgrade(): boolean {
      if (!this.isUpgradeRequested) return false
      return this.method === 'CONNECT' || isSocketUpgrade(this, isSocketPath)
    }

    /** Set by Node's parser. */
    set upgrade(isRequested: boolean | null) {
      this.isUpgradeRequested = isRequested === true
    }
  }
}

function isSocketUpgrade(
  { method, url = '', headers }: IncomingMessage,
  isSocketPath: IsSocketPath,
): boolean {
  const [path = ''] = url.split('?', 1)
  return method === 'GET' && headers.upgrade?.toLowerCase() === 'websocket' && isSocketPath(path)
}
