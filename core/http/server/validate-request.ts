import type { IncomingMessage } from 'node:http'
import { GatewayError } from '../../contract/index.ts'

/**
 * What Node's parser lets pass and a proxy in front could read in another way: where the request ends, and for whom it is.
 * Undefined when there is nothing of it.
 */
export function validateRequest(request: IncomingMessage, mostHeaders: number): GatewayError | undefined {
  const { rawHeaders, httpVersion } = request
  if (rawHeaders.length > 2 * mostHeaders)
    return new GatewayError('headers_too_large', `The request has more than ${mostHeaders} headers.`)
  if (httpVersion !== '1.1' && httpVersion !== '1.0') return malformedRequestError('it is not HTTP/1.1')
  const coding = request.headers['transfer-encoding']
  if (coding !== undefined && (httpVersion === '1.0' || coding.toLowerCase() !== 'chunked'))
    return malformedRequestError('the only Transfer-Encoding is chunked, in HTTP/1.1')
  const hosts = countHosts(rawHeaders)
  if (hosts > 1 || (hosts === 0 && httpVersion === '1.1'))
    return malformedRequestError('it needs one Host header')
  return undefined
}

export function malformedRequestError(reason: string): GatewayError {
  return new GatewayError('malformed_request', `The request is not valid HTTP: ${reason}.`)
}

/** Of several, Node's `headers` show the first only. */
function countHosts(rawHeaders: readonly string[]): number {
  let count = 0
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]
    if (name?.length === 4 && name.toLowerCase() === 'host') count++
  }
  return count
}
