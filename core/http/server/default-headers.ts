import {
  type IncomingMessage,
  type OutgoingHttpHeader,
  type OutgoingHttpHeaders,
  validateHeaderName,
  validateHeaderValue,
} from 'node:http'
import type { DefaultHeaders } from '../../contract/index.ts'
import { InterruptibleResponse } from '../incomplete-response.ts'
import { OVERHEAD_HEADER, stopOwnTime } from '../own-time.ts'

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
    if (this.timed !== undefined) defaults.push(OVERHEAD_HEADER, stopOwnTime(this.timed))
    const isList = message === undefined || Array.isArray(message)
    if (isList && headers === undefined && this.getHeaderNames().length === 0)
      return super.writeHead(status, message === undefined ? defaults : withDefaults(message, defaults))
    for (let index = 0; index < defaults.length; index += 2) {
      const name = defaults[index] ?? ''
      if (!this.hasHeader(name)) this.setHeader(name, defaults[index + 1] ?? '')
    }
    // The cast selects one of two overloads: Node accepts headers as the second or the third argument.
    return super.writeHead(status, message as string, headers)
  }
}

/**
 * A response that checks headers where they are set, for gateways with plugin packages. Node does it when the
 * head is written, and the plugin that set them is not known then.
 */
export class CheckedResponse<
  Request extends IncomingMessage = IncomingMessage,
> extends GatewayResponse<Request> {
  override setDefaultHeader(name: string, value: string): void {
    checkDefaultHeader(name, value)
    super.setDefaultHeader(name.toLowerCase(), value)
  }
}

/** Headers of the body or the connection, which only the gateway can know. */
const FRAMING_HEADERS: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'keep-alive',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

/** Throws a `TypeError` if a plugin cannot set the header of a response. */
export function checkHeader(name: string, value: unknown): void {
  validateHeaderName(name)
  if (typeof value !== 'string') throw new TypeError(`The value of the header ${name} is not a text`)
  validateHeaderValue(name, value)
  if (FRAMING_HEADERS.has(name.toLowerCase()))
    throw new TypeError(`The header ${name} is set by the gateway, not by plugins`)
}

/** As `checkHeader`, for responses whose body is the gateway's. */
function checkDefaultHeader(name: string, value: unknown): void {
  checkHeader(name, value)
  if (/^content-(type|encoding)$/i.test(name))
    throw new TypeError(`The header ${name} describes a body of the gateway`)
}

/** Adds the defaults that a list does not have. Both are alternating names and values. */
function withDefaults(list: OutgoingHttpHeader[], defaults: readonly string[]): OutgoingHttpHeader[] {
  const own = list.length
  const all = list.slice()
  for (let index = 0; index < defaults.length; index += 2) {
    const name = defaults[index] ?? ''
    let isSet = false
    for (let other = 0; other < own; other += 2) if (all[other] === name) isSet = true
    if (!isSet) all.push(name, defaults[index + 1] ?? '')
  }
  return all
}

/** A response that sets every header immediately, so that middleware can read, change and remove it. */
export class PlainResponse<Request extends IncomingMessage = IncomingMessage>
  extends InterruptibleResponse<Request>
  implements DefaultHeaders
{
  setDefaultHeader(name: string, value: string): void {
    checkDefaultHeader(name, value)
    if (!this.headersSent && !this.hasHeader(name)) this.setHeader(name, value)
  }

  override writeHead(status: number, message?: string | Headers, headers?: Headers): this {
    if (this.timed !== undefined && !this.headersSent)
      this.setHeader(OVERHEAD_HEADER, stopOwnTime(this.timed))
    // The cast selects one of two overloads.
    return super.writeHead(status, message as string, headers)
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
