import type Router from '@koa/router'
import type { DefaultState, Next, ParameterizedContext } from 'koa'
import type { Logger } from 'pino'
import type { Account } from './accounts.ts'
import type { GatewayError } from './errors.ts'
import type { EventLog } from './event-log.ts'
import type { Exchange } from './exchange.ts'
import type { JsonObject } from './json.ts'
import type { Action, Condition } from './routing.ts'

/** What the gateway adds to Koa's context. */
export interface GatewayFields {
  /** `req_…`, on every answer as `x-request-id`. */
  readonly requestId: string
  /** `performance.now()` at arrival. */
  readonly startedAt: number
  /** Aborts when the client leaves before the answer ended. */
  readonly signal: AbortSignal
  /** Set by `auth`. */
  account: Account
  /** Set on inference endpoints, once the body was read; that is before the first plugin that reads requests. */
  exchange: Exchange
}

export type GatewayContext = ParameterizedContext<DefaultState, GatewayFields>

export type GatewayMiddleware = (ctx: GatewayContext, next: Next) => Promise<void>

export type GatewayRouter = Router<DefaultState, GatewayFields>

/** A step of the chain, with what it needs to be placed right. The listed order in the configuration is the running order. */
export interface Plugin {
  readonly name: string
  /** Plugins that must be listed before this one. */
  readonly after?: readonly string[]
  /** Which requests the middleware sees; `inference` when left out. */
  readonly applies?: 'inference' | 'management' | 'all'
  /** `headers`: may run before the body is read. `request` when left out. */
  readonly needs?: 'headers' | 'request'
  /** JSON schema of the options; without it the plugin takes none. */
  readonly options?: JsonObject
  /** Called once at the start. Throwing stops the start, and names the plugin and the reason. */
  setup(options: JsonObject, host: Host): PluginParts | Promise<PluginParts>
}

export interface PluginParts {
  readonly middleware?: GatewayMiddleware
  /** Adds endpoints for authenticated users; the `management` chain runs before them. */
  routes?(router: GatewayRouter): void
  /** Adds endpoints that no chain guards: the plugin checks the caller itself. */
  openRoutes?(router: GatewayRouter): void
  /** Keys that `match_json` of routing rules may hold besides the built-in ones. */
  readonly conditions?: readonly Condition[]
  /** Keys that `action_json` of routing rules may hold besides the built-in ones. */
  readonly actions?: readonly Action[]
  /** The body of an error answer on these routes; the general envelope when left out. */
  errorBody?(error: GatewayError): JsonObject
  close?(): Promise<void>
}

/** What the gateway lends to a plugin. */
export interface Host {
  readonly log: EventLog
  /** Conditions and actions of all plugins; complete once every plugin is set up. */
  readonly vocabulary: Vocabulary
  readonly logger: Logger
}

/** The words of routing rules, by name. */
export interface Vocabulary {
  readonly conditions: ReadonlyMap<string, Condition>
  readonly actions: ReadonlyMap<string, Action>
}
