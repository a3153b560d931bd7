import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import type { GatewayMiddleware, GatewayRouter } from './context.ts'
import type { Dialect } from './dialect.ts'
import type { RequestObserver } from './ended-request.ts'
import type { GatewayError } from './errors.ts'
import type { EventLog, NewEvent } from './event-log.ts'
import type { Exchange } from './exchange.ts'
import type { JsonObject } from './json.ts'
import type { EventDeclaration, PluginEvents } from './plugin-events.ts'
import type { Action, Condition } from './routing.ts'

/** A step of the chain, with what it needs to be placed right. The listed order in the configuration is the running order. */
export interface Plugin<State = unknown, Event extends NewEvent = NewEvent> {
  /** Unique in the list. */
  readonly name: string
  /** The `CONTRACT_VERSION` that it was written for; 1 when left out. */
  readonly contract?: number
  /** Plugins that must be listed before this one. */
  readonly after?: readonly string[]
  /** Which requests the middleware sees; `inference` when left out. */
  readonly applies?: 'inference' | 'management' | 'all'
  /** `headers`: may run before the body is read. `request` when left out. */
  readonly needs?: 'headers' | 'request'
  /** JSON schema of the options; without it the plugin takes none. */
  readonly options?: JsonObject
  /** What the plugin writes to the event log, and the state that this leads to. */
  readonly events?: EventDeclaration<State, Event>
  /** Called once at the start. Throwing stops the start, and names the plugin and the reason. */
  setup(options: JsonObject, host: Host<State, Event>): PluginParts | Promise<PluginParts>
}

export interface PluginParts {
  readonly middleware?: GatewayMiddleware
  /**
   * What the plugin makes of an inference request before it is sent, as a change to the exchange and nothing else. It runs in front of
   * the plugin's middleware, and when a request is simulated. Throwing refuses the request.
   */
  decide?(exchange: Exchange): void | Promise<void>
  /** Inference endpoints by their path, each in a client's format: `POST` there runs the `inference` chain. */
  readonly dialects?: Readonly<Record<string, Dialect>>
  /** Adds endpoints for authenticated users; the `management` chain runs before them. */
  routes?(router: GatewayRouter): void
  /** Adds endpoints that no chain guards: the plugin checks the caller itself. */
  publicRoutes?(router: GatewayRouter): void
  /** Keys that `match_json` of routing rules may hold besides the built-in ones. */
  readonly conditions?: readonly Condition[]
  /** Keys that `action_json` of routing rules may hold besides the built-in ones. */
  readonly actions?: readonly Action[]
  /** The plugin's endpoints in `/openapi.json`: OpenAPI 3.1 path items by path. */
  readonly openapi?: JsonObject
  /** Hears of every request on every address when its answer has ended, also of those that no chain saw. */
  readonly observeRequest?: RequestObserver
  /** The body of an error answer on these routes; the general envelope when left out. */
  errorBody?(error: GatewayError): JsonObject
  close?(): Promise<void>
}

/** What the gateway lends to a plugin. */
export interface Host<State = unknown, Event extends NewEvent = NewEvent> {
  /** Everything that happened, for reading. */
  readonly log: Pick<EventLog, 'read' | 'subscribe'>
  /** The plugin's own events: those that it declares. */
  readonly events: PluginEvents<State, Event>
  /** Conditions and actions of all plugins; complete once every plugin is set up. */
  readonly operators: OperatorRegistry
  /** Runs what all plugins decide about a request, in their order; complete once every plugin is set up. */
  decide(exchange: Exchange): Promise<void>
  /** How all plugins describe their endpoints; complete once every plugin is set up. */
  openapi(): readonly JsonObject[]
  readonly logger: Logger
  /** Where metrics are registered; `/metrics` shows them. Labels take values from closed sets only. */
  readonly metrics: Registry
}

/** The words of routing rules, by name. */
export interface OperatorRegistry {
  readonly conditions: ReadonlyMap<string, Condition>
  readonly actions: ReadonlyMap<string, Action>
}
