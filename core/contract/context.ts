import type Router from '@koa/router'
import type { DefaultState, Next, ParameterizedContext } from 'koa'
import type { ChatRequest } from './chat.ts'
import type { GatewayError } from './errors.ts'
import type { Account, ClientConnection, Exchange } from './exchange.ts'
import type { JsonObject } from './json.ts'

/** Headers that the gateway itself puts on an answer. They are written with its head; where a plugin has set one of the name, that counts. */
export interface DefaultHeaders {
  /** Each name once, in lower case. */
  setDefaultHeader(name: string, value: string): void
}

/** What the gateway adds to Koa's context. */
export interface GatewayFields {
  /** `req_…`, on every answer as `x-request-id`. */
  readonly requestId: string
  /** `performance.now()` at arrival. */
  readonly startedAt: number
  readonly client: ClientConnection
  readonly res: DefaultHeaders
  /** The path of the inference endpoint that serves the request, once it is found. */
  endpoint?: string
  /** How errors are answered from here on; the general envelope where nobody said. */
  errorBody?: (error: GatewayError) => JsonObject
  /** Set by `auth`. */
  account: Account
  /** Set on inference endpoints, once the body was read; that is before the first plugin that reads requests. */
  exchange: Exchange
}

export type GatewayContext = ParameterizedContext<DefaultState, GatewayFields>

export type GatewayMiddleware = (ctx: GatewayContext, next: Next) => void | Promise<void>

export type GatewayRouter = Router<DefaultState, GatewayFields>

/** A client's format: reads requests into the canonical form, writes replies and errors back. */
export interface Dialect {
  /** Throws 400 naming the parameter at fault. */
  parseRequest(body: JsonObject, ctx: GatewayContext): ChatRequest | Promise<ChatRequest>
  /** Models to try before the automatic choice, best first. */
  parsePreferences?(body: JsonObject): readonly string[]
  /** Request fields that the endpoint fills in where the caller left them out. */
  readonly defaults?: readonly string[]
  /** The body, or its JSON. */
  writeWhole(exchange: Exchange, ctx: GatewayContext): JsonObject | string | Promise<JsonObject>
  /** Whole SSE records, several in one text when they arrived together. Ends with an error record instead of throwing. */
  writeStream(exchange: Exchange, ctx: GatewayContext): AsyncIterable<string>
  errorBody(error: GatewayError): JsonObject
}

/** A request whose answer has ended, refused ones included. */
export interface EndedRequest {
  /** `req_…`. */
  readonly id: string
  readonly method: string
  /** As the caller wrote it: never a label of a metric. */
  readonly path: string
  /** The pattern that served it, such as `/v1/routing-rules/:id`; undefined when there was none. */
  readonly endpoint: string | undefined
  readonly status: number
  /** The client did not wait for the end. */
  readonly isAborted: boolean
  /** `performance.now()` at arrival and at the end. */
  readonly startedAt: number
  readonly endedAt: number
  /** Undefined when the caller was not known. */
  readonly account: Account | undefined
  /** Undefined on other than inference endpoints, and when the request could not be read. */
  readonly exchange: Exchange | undefined
}

/** Called on the hot path, once per request. */
export type RequestObserver = (request: EndedRequest) => void
