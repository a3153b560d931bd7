import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import type { ChatRequest } from './chat.ts'
import type { Dialect, GatewayMiddleware, GatewayRouter, RequestObserver } from './context.ts'
import type { GatewayError } from './errors.ts'
import type { Appended, EventLog, NewEvent, Position, Upcasts } from './event-log.ts'
import type { Account, Exchange, Warning } from './exchange.ts'
import type { JsonObject } from './json.ts'
import type { Mode } from './rules.ts'

/** Version of what a plugin may rely on: `Plugin`, `PluginParts`, `Host` and what they mention. A change that breaks plugins takes the next. */
export const CONTRACT_VERSION = 1

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

/** What the conditions of a routing rule look at. */
export interface RoutingInput {
  readonly account: Account
  /** After masking. */
  readonly request: ChatRequest
  /** The body's `metadata`, else the JSON object that `user` holds. */
  readonly metadata: JsonObject
  /** The mode that the request asks for; `balance` when it names a model. */
  readonly mode: Mode
}

export type Matcher = (input: RoutingInput) => boolean

/** A key of a rule document, its values, and what they mean. */
interface Operator {
  /** Unique among all plugins. */
  readonly name: string
  readonly schema: JsonObject
  /** Completes "<name> must be …". */
  readonly description: string
  /** The value as it is stored; as given when left out. */
  normalize?(value: unknown): unknown
}

/** A key of `match_json`. It is compiled once per rule change. */
export type Condition = Operator & {
  /** What the owner should know about a value that is accepted, as a sentence. */
  lint?(value: unknown): string | undefined
} & (
    | { matcher(value: unknown): Matcher }
    /** Holds when any of these is found, in any case, in the user's texts; all rules are searched in one pass. */
    | { literals(value: unknown): readonly string[] }
  )

/** What the matching rules make of a request together; actions change it. */
export interface RoutingDraft {
  provider?: string
  model?: string
  mode?: Mode
  /** Goes to the provider; replaced, never changed in place. */
  request: ChatRequest
  readonly warnings: Warning[]
}

/** A key of `action_json`. */
export interface Action extends Operator {
  /** `first`: of several matching rules only the first applies; `all`: each does. */
  readonly combine: 'first' | 'all'
  apply(value: unknown, draft: RoutingDraft): void
}

/** Who asks for a change: a key id, `admin`, `cli` or `system`, and the request it came with. */
export interface Author {
  readonly actor: string
  readonly requestId?: string
}

/**
 * The types of events that a plugin writes, and the state that they lead to. In the log a type is `{plugin}:{type}` and stands in
 * the stream `plugin-{plugin}:{subject}`, so that no two plugins meet.
 */
export interface EventDeclaration<State = unknown, Event extends NewEvent = NewEvent> {
  /** By type, the JSON schema that `data` must fit when it is appended. */
  readonly types: Readonly<Record<Event['type'], JsonObject>>
  /** Version of these shapes, from 1 on; 1 when left out. Whoever changes a shape takes the next number and writes an upcast. */
  readonly version?: number
  /** How events of older versions read today; types stand here without the plugin's name. */
  readonly upcasts?: Upcasts
  /** The state before the first event. */
  initial(): State
  /** The state after the event, which may be the same object, changed. The event and the state before are all that it may depend on. */
  evolve(state: State, event: PluginEvent<Event>): State
}

/** What happened, as the plugin's version today reads it; `type` is without the plugin's name. */
export type PluginEvent<Event extends NewEvent = NewEvent> = Event & {
  /** What it is about, as it was appended. */
  readonly subject: string
  /** Counts the subject's events from 0. */
  readonly revision: number
  readonly position: Position
  /** ISO 8601 UTC with six decimals. */
  readonly time: string
} & Author

/** A plugin's own events. */
export interface PluginEvents<State = unknown, Event extends NewEvent = NewEvent> {
  /** The state that all events lead to, as far as this node has seen the log; at `setup` that is all there were. */
  state(): State
  /**
   * Appends events about a subject, such as `user-7`, and resolves when they are on disk and `state()` shows them. A function
   * decides on the state and is asked again when somebody else wrote about the same subject meanwhile; no events: nothing to do.
   * Rejects when an event does not fit its schema, and with `LogUnavailable` while the log is away.
   */
  append(
    subject: string,
    events: readonly Event[] | ((state: State) => readonly Event[]),
    author: Author,
  ): Promise<Appended | undefined>
  /** The subject's events, oldest first. */
  read(subject: string): AsyncIterable<PluginEvent<Event>>
}
