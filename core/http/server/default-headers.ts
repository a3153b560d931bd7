import type { IncomingMessage, OutgoingHttpHeader, OutgoingHttpHeaders } from 'node:http'
import type { DefaultHeaders } from '../../contract/index.ts'
import { InterruptibleResponse } from '../incomplete-response.ts'

/**
 * A response that collects the gateway's default headers and passes them to Node in one list when the head is
 * written. Checking, storing and looking up each header separately would cost as much as reading the request.
 * A header set explicitly takes precedence over the default of the same name. See docs/decisions/http.md,
 * "Default headers are sent in one list with the head".
 */
export class GatewayResponse<Request extends IncomingMessage = IncomingMessage>
  extends InterruptibleResponse<Request>
  implements DefaultHeaders
{
  /** Alternating names and values. */
  #defaults: string[] = []

  setDefaultHeader(name: string, value: string): void {
    this.#defaults.push(name, value)
  }

  /**
   * Replaces all default headers. `headers` are alternating names and values. Call `setDefaultHeader` later.
   */
  setDefaultHeaders(headers: readonly string[]): void {
    this.#defaults = headers.slice()
  }

  override writeHead(status: number, message?: string | Headers, headers?: Headers): this {
    const defaults = this.#defaults
    this.#defaults = []
    const isList = message === undefined || Array.isArray(message)
    if (isList && headers === undefined && this.getHeaderNames().length === 0)
      return super.writeHead(
        status,
        message === undefined ? defaults : [...message, ...without(defaults, message)],
      )
    for (let index = 0; index < defaults.length; index += 2) {
      const name = defaults[index] ?? ''
      if (!this.hasHeader(name)) this.setHeader(name, defaults[index + 1] ?? '')
    }
    // The cast selects one of two overloads: Node accepts headers as the second or the third argument.
    return super.writeHead(status, message as string, headers)
  }
}

/** Leaves out the headers that `others` has, too. Both are alternating names and values. */
function without(headers: readonly string[], others: readonly OutgoingHttpHeader[]): readonly string[] {
  return headers.filter((_, index) => {
    const name = headers[index - (index % 2)]
    return !others.some((other, position) => position % 2 === 0 && other === name)
  })
}

/** A response that sets every header immediately, so that middleware can read, change and remove it. */
export class PlainResponse<Request extends IncomingMessage = IncomingMessage>
  extends InterruptibleResponse<Request>
  implements DefaultHeaders
{
  setDefaultHeader(name: string, value: string): void {
    if (!this.headersSent && !this.hasHeader(name)) this.setHeader(name, value)
  }

  setDefaultHeaders(headers: readonly string[]): void {
    for (let index = 0; index < headers.length; index += 2)
      this.setHeader(headers[index] ?? '', headers[index + 1] ?? '')
  }
}

type Headers = OutgoingHttpHeaders | OutgoingHttpHeader[]

export type HttpHeader = readonly [name: string, value: string]

/** Prevent responses from being cached, and from being interpreted as pages by browsers. */
const SECURITY_HEADERS: readonly HttpHeader[] = [
  ['cache-control', 'no-store'],
  ['content-security-policy', "default-src 'none'; frame-ancestors 'none'"],
  ['referrer-policy', 'no-referrer'],
  ['x-content-type-options', 'nosniff'],
]

/**
 * Builds the headers of every response of a server, with HSTS if `hstsSeconds` is a number. Browsers honor
 * HSTS only over TLS, so it is for deployments behind a TLS proxy.
 */
export function buildSecurityHeaders(hstsSeconds?: number | null): readonly HttpHeader[] {
  if (typeof hstsSeconds !== 'number') return SECURITY_HEADERS
  return [...SECURITY_HEADERS, ['strict-transport-security', `max-age=${hstsSeconds}`]]
}
