import type Router from '@koa/router'
import type { DefaultState, Next, ParameterizedContext } from 'koa'
import type { Account } from './accounts.ts'
import type { GatewayError } from './errors.ts'
import type { Exchange } from './exchange.ts'
import type { JsonObject } from './json.ts'
import type { ClientConnection } from './presence.ts'

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
