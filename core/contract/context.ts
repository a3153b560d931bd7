import type Router from '@koa/router'
import type { DefaultState, Next, ParameterizedContext } from 'koa'
import type { ChatRequest } from './chat.ts'
import { GatewayError } from './errors.ts'
import type { Account, ClientConnection, EndedExchange, RepliedExchange } from './exchange.ts'
import type { JsonObject } from './json.ts'

/** Response headers of the gateway itself. A header that a plugin sets by the same name wins. */
export interface DefaultHeaders {
  /** Sets a header. The name is lower case and set at most once per response. */
  setDefaultHeader(name: string, value: string): void
}

/** Fields that the gateway adds to Koa's context. */
export interface GatewayFields {
  /** `req_…`; sent on every response as `x-request-id`. */
  readonly requestId: string
  /** `performance.now()` when the request arrived. */
  readonly startedAt: number
  readonly client: ClientConnection
  readonly res: DefaultHeaders
  /** Path of the matched inference endpoint; undefined before matching and on other endpoints. */
  endpoint?: string
  /** Builds the response body of an error; the general envelope if undefined. */
  errorBody?: (error: GatewayError) => JsonObject
  /** Set by the `auth` plugin. */
  account: Account
  /** Set on inference endpoints once the body is read. */
  exchange: EndedExchange
}

export type GatewayContext = ParameterizedContext<DefaultState, GatewayFields>

export type GatewayMiddleware = (ctx: GatewayContext, next: Next) => void | Promise<void>

export type GatewayRouter = Router<DefaultState, GatewayFields>

/** A request before its body is read; for the phase `admit`. */
export interface Admission
  extends Pick<
    GatewayContext,
    'requestId' | 'startedAt' | 'client' | 'endpoint' | 'method' | 'path' | 'headers' | 'req'
  > {
  /** Set by `auth`; undefined before. */
  account?: Account
  /** For headers of the response. */
  readonly res: DefaultHeaders
}

/** Returns the authenticated caller. Throws if no plugin listed earlier has set it. */
export function requireAccount({ account }: Pick<Admission, 'account'>): Account {
  if (account !== undefined) return account
  const message = 'No plugin authenticated the caller. Add "auth" to the list of plugins.'
  throw new GatewayError('internal_error', message)
}

/** A client format: parses requests to the canonical form, and formats replies and errors. */
export interface Dialect {
  /** Throws a `GatewayError` (400) that names the invalid parameter. */
  parseRequest(body: JsonObject, ctx: GatewayContext): ChatRequest | Promise<ChatRequest>
  /** Returns the models to try before automatic routing, best first. */
  parsePreferences?(body: JsonObject): readonly string[]
  /** Names of request fields that the endpoint fills in when the caller omits them. */
  readonly defaults?: readonly string[]
  /** Returns the response body of a complete reply, as an object or as its JSON text. */
  writeWhole(exchange: RepliedExchange, ctx: GatewayContext): JsonObject | string | Promise<JsonObject>
  /**
   * Yields complete SSE records, several per string if they arrived together. If the reply fails, ends with
   * an error record instead of throwing.
   */
  writeStream(exchange: RepliedExchange, ctx: GatewayContext): AsyncIterable<string>
  errorBody(error: GatewayError): JsonObject
}

/** A request whose response has ended. Includes rejected requests. */
export interface EndedRequest {
  /** `req_…`. */
  readonly id: string
  readonly method: string
  /** As the caller sent it: unbounded, so not for metric labels. */
  readonly path: string
  /** Pattern of the matched route, such as `/v1/routing-rules/:id`; undefined if no route matched. */
  readonly endpoint: string | undefined
  readonly status: number
  /** The client disconnected before the response ended. */
  readonly isAborted: boolean
  /** `performance.now()` when the request arrived. */
  readonly startedAt: number
  /** `performance.now()` when the response ended. */
  readonly endedAt: number
  /** Undefined if the caller was not authenticated. */
  readonly account: Account | undefined
  /** Undefined on endpoints other than inference, and if the request could not be parsed. */
  readonly exchange: EndedExchange | undefined
}

/** Called once per request, on the hot path. */
export type RequestObserver = (request: EndedRequest) => void
