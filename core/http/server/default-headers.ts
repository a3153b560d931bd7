import {
  type IncomingMessage,
  type OutgoingHttpHeader,
  type OutgoingHttpHeaders,
  ServerResponse,
} from 'node:http'
import type { DefaultHeaders } from '../../contract/index.ts'

/**
 * A response that keeps the headers of the gateway's own until the head is written, and then gives them to Node in one list: to check, store
 * and look up each by itself would cost as much as reading the request. Where somebody has set a header by its name, that counts.
 */
export class GatewayResponse<Request extends IncomingMessage = IncomingMessage>
  extends ServerResponse<Request>
  implements DefaultHeaders
{
  /** Names and values by turns. */
  #own: string[] = []

  setDefaultHeader(name: string, value: string): void {
    this.#own.push(name, value)
  }

  /** Those that every answer has, names and values by turns; before all others. */
  setDefaultHeaders(headers: readonly string[]): void {
    this.#own = headers.slice()
  }

  override writeHead(status: number, message?: string | Headers, headers?: Headers): this {
    const own = this.#own
    this.#own = []
    if (message === undefined && headers === undefined && this.getHeaderNames().length === 0)
      return super.writeHead(status, own)
    for (let place = 0; place < own.length; place += 2) {
      const name = own[place] ?? ''
      if (!this.hasHeader(name)) this.setHeader(name, own[place + 1] ?? '')
    }
    // The cast chooses one of two signatures: Node takes headers in either place.
    return super.writeHead(status, message as string, headers)
  }
}

type Headers = OutgoingHttpHeaders | OutgoingHttpHeader[]

export type HttpHeader = readonly [name: string, value: string]

/** On every answer: nobody keeps it, and no browser takes it for a page. */
const ALWAYS: readonly HttpHeader[] = [
  ['cache-control', 'no-store'],
  ['content-security-policy', "default-src 'none'; frame-ancestors 'none'"],
  ['referrer-policy', 'no-referrer'],
  ['x-content-type-options', 'nosniff'],
]

/** Made once per server. Browsers heed HSTS over TLS only, so it is for those who have TLS in front. */
export function buildSecurityHeaders(hstsSeconds?: number | null): readonly HttpHeader[] {
  if (typeof hstsSeconds !== 'number') return ALWAYS
  return [...ALWAYS, ['strict-transport-security', `max-age=${hstsSeconds}`]]
}
