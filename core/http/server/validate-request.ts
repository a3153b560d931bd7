import type { IncomingMessage } from 'node:http'
import { GatewayError } from '../../contract/index.ts'

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
