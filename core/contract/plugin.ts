import type { IncomingHttpHeaders } from 'node:http'
import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import type { ChatRequest, Reply, ReplyTransform, Usage } from './chat.ts'
import type { AdapterDeclaration } from './chat-format.ts'
import type { Dialect } from './dialect.ts'
import type { ErrorDefinition } from './error-codes.ts'
import type { Appended, Author, EventLog, NewEvent, Position, Upcasts } from './event-log.ts'
import type {
  Account,
  EndedExchange,
  Exchange,
  RepliedExchange,
  ReplyingExchange,
  Warning,
} from './exchange.ts'
import type { Admission, Endpoint, EndpointDescription, GatewayMiddleware, RequestObserver } from './http.ts'
import type { JsonObject, MaybePromise, Static, TObject, TSchema } from './json.ts'
import type { Requirement, Target } from './provider.ts'
import type { Mode } from './rules.ts'
import type { Service, UsedServices, Uses } from './service.ts'
import type { Counters, RecordStore } from './shared-state.ts'

/** Version of the plugin API (`Plugin`, `PluginParts`, `Host`). Incremented by breaking changes. */
export const CONTRACT_VERSION = 3

/**
 * The default export of a plugin module. Plugins run in the order in which the settings list them. `Options`
 * is the schema of the options; `definePlugin` infers it.
 */
export interface Plugin<
  Options extends JsonObject = JsonObject,
  State = unknown,
  Event extends NewEvent = NewEvent,
  Used extends Uses = Uses,
> {
  /** Unique among the listed plugins. */
  readonly name: string
  /** The `CONTRACT_VERSION` that the plugin was written for: 3. Plugins that are built in need not say it. */
  readonly contract?: number
  /** Plugins that must be listed, before this one. */
  readonly after?: readonly string[]
  /** Plugins that must be listed after this one, if they are listed. */
  readonly before?: readonly string[]
  /** JSON schema of the options, whose defaults apply; if undefined, the plugin takes no options. */
  readonly options?: Options
  /** The plugin's own event types, and the state built from them. */
  readonly events?: EventDeclaration<State, Event>
  /** Whether its decisions can be made again. Default: its `decide` is called again, and what-if names it. */
  readonly replay?: Replay
  /** Services of other plugins. Their plugins are set up before this one, wherever they are listed. */
  readonly uses?: Used
  /** Services for other plugins. `setup` must provide each of them. */
  readonly provides?: readonly Service<unknown>[]
  /** Called once at startup, in every worker process. If it throws, startup fails and names the plugin. */
  setup(options: StaticOptions<Options>, host: Host<State, Event, Used>): MaybePromise<PluginParts>
}

/**
 * Whether a plugin decides alike again, in simulations and about recorded requests. `pure`: its decisions
 * depend on the exchange, the options and the settings only. `recorded`: also on what the ledger records.
 * `not`: on something else, so `decide` and `confirm` are not called again.
 */
export type Replay =
  | { readonly type: 'pure' | 'recorded'; readonly why?: string }
  /** `why`: what a decision without the plugin does not tell, as a sentence. */
  | { readonly type: 'not'; readonly why: string }

/** The type of valid options, if the schema was built with `Type`. */
type StaticOptions<Options> = Options extends TSchema ? Static<Options> : JsonObject

/** Returns the plugin. Types the parameters of `setup` by the schema of the options, `events` and `uses`. */
export function definePlugin<
  Options extends TSchema = TObject<Record<never, TSchema>>,
  State = unknown,
  Event extends NewEvent = NewEvent,
  Used extends Uses = Record<never, Service<unknown>>,
>(plugin: Plugin<Options, State, Event, Used>): Plugin {
  // The cast is safe: the gateway calls `setup` with options that match the schema only.
  return plugin as unknown as Plugin
}

/**
 * The result of `Plugin.setup`. All parts are optional. An inference request passes the phases `admit`,
 * `decide`, `reply` and `inspect`; in each phase the plugins run in the order in which they are listed.
 */
export interface PluginParts {
  /**
   * Admits a request before its body is read; throw a `GatewayError` to reject it. Runs for inference
   * endpoints, for endpoints of authenticated callers, and for unknown paths if the request has an API key.
   */
  admit?(request: Admission): MaybePromise<void>
  /**
   * Changes or rejects an inference request before it is answered. Must have no effect except on the
   * exchange, because simulations call it, too, unless `replay` says `not`. Throw a `GatewayError` to reject
   * the request.
   */
  decide?(exchange: Exchange): MaybePromise<void>
  /**
   * Called when all plugins have decided and `exchange.request` is what will be sent, and once more before
   * `dispatch`: a last look at what later plugins changed. The same terms as for `decide`.
   */
  confirm?(exchange: Exchange): MaybePromise<void>
  /**
   * Answers an inference request, or calls `next` for the reply of the plugins listed later; `dispatch`,
   * which calls the provider, must be the last of them. Call `next` at most once.
   */
  reply?(exchange: ReplyingExchange, next: () => Promise<Reply>): MaybePromise<Reply>
  /**
   * Called when the reply has started, before anything is sent to the client. Returns a transform that every
   * event of the reply passes, whole or streamed, or several in order; undefined to leave the reply as it is.
   */
  inspect?(exchange: RepliedExchange): ReplyTransform | readonly ReplyTransform[] | undefined
  /**
   * Called after `inspect` of all plugins, if plugins listed later have transforms. Returns a transform for
   * what these make of the reply: a last look.
   */
  confirmReply?(exchange: RepliedExchange): ReplyTransform | undefined
  /**
   * Called if an inference request fails after its body was parsed and before its reply is sent. The error
   * response waits for it. `error` is usually a `GatewayError`.
   */
  rejected?(exchange: EndedExchange, error: unknown): MaybePromise<void>
  /**
   * Plain Koa middleware, such as a published package. Runs with the `admit` functions, in the listed order;
   * after `await next()` it sees the response: headers, and the body as an object or a `Readable`.
   */
  readonly middleware?: GatewayMiddleware
  /** Wire formats of providers. The setting `format` of a provider selects one by its name. */
  readonly providers?: readonly AdapterDeclaration[]
  /** Inference endpoints by path, each for `POST` requests in the format of its dialect. */
  readonly dialects?: Readonly<Record<string, Dialect>>
  /** `admit` of all plugins runs before endpoints for users. */
  readonly endpoints?: readonly Endpoint[]
  /** Error codes of the plugin's own: `new GatewayError({ code, status, type, message })`. */
  readonly errorCodes?: Readonly<Record<string, ErrorDefinition>>
  /** Additional keys of `match_json` in routing rules. */
  readonly conditions?: readonly Condition[]
  /** Additional keys of `action_json` in routing rules. */
  readonly actions?: readonly Action[]
  /** Called for every request on every listener when its response has ended, including rejected requests. */
  readonly observe?: RequestObserver
  /** Called at shutdown, in reverse order of the plugins. */
  close?(): Promise<void>
}

/** Services of the gateway for a plugin. */
export interface Host<State = unknown, Event extends NewEvent = NewEvent, Used extends Uses = Uses> {
  /** The services that the plugin uses. */
  readonly use: UsedServices<Used>
  /** Provides a service that the plugin declares in `provides`. */
  provide<Offered>(service: Service<Offered>, offered: Offered): void
  /** The whole event log, read-only. */
  readonly log: Pick<EventLog, 'read' | 'subscribe'>
  /** The plugin's own events. All methods throw if the plugin declares no `events`. */
  readonly events: PluginEvents<State, Event>
  /** Conditions and actions of all plugins; complete when all plugins are set up. */
  readonly operators: OperatorRegistry
  /** Runs `decide` and then `confirm` of all plugins in order. Complete when all plugins are set up. */
  decide(exchange: Exchange): Promise<void>
  /** Returns all served endpoints and error codes. Complete when all plugins are set up. */
  api(): ApiDescription
  /** The plugin's own counters, shared by all processes. */
  readonly counters: Counters
  /** The plugin's own expiring records, shared by all processes. */
  readonly store: RecordStore
  /**
   * Returns the cost of a reply in US dollars by the prices of the model catalogue, rounded to billionths;
   * undefined if the catalogue does not have the model, or no price of the service tier or of a tool that the
   * provider ran. An estimated usage costs what it may cost at most.
   */
  costOf(usage: Usage, target: Target): number | undefined
  readonly logger: Logger
  /** Registry of the metrics at `/metrics`. Label values must come from bounded sets. */
  readonly metrics: Registry
}

/** Everything that the gateway and its plugins serve. */
export interface ApiDescription {
  readonly endpoints: readonly EndpointDescription[]
  readonly errorCodes: Readonly<Record<string, ErrorDefinition>>
}

/** Conditions and actions of routing rules, by name. */
export interface OperatorRegistry {
  readonly conditions: ReadonlyMap<string, Condition>
  readonly actions: ReadonlyMap<string, Action>
}

/** Input of the conditions of a routing rule. */
export interface RoutingInput {
  /** `req_…`. */
  readonly requestId: string
  readonly account: Account
  /** The request after the firewall masked it. */
  readonly request: ChatRequest
  /** `metadata` of the body, else the JSON object in `user`, else `{}`. */
  readonly metadata: JsonObject
  /** The mode of the request; `balance` if it names a model. */
  readonly mode: Mode
  /** The HTTP headers that the condition declares, also of a recorded request. */
  readonly headers: IncomingHttpHeaders
}

export type Matcher = (input: RoutingInput) => boolean

/** A key of `match_json` or `action_json`, with the schema of its values. */
interface Operator {
  /** Unique among all plugins. */
  readonly name: string
  /** JSON schema of the value. Must mean the same in draft 7 and 2020-12; no `$ref`. */
  readonly schema: JsonObject
  /** Completes "<name> must be …" in error messages. */
  readonly description: string
  /** Returns the value to store for a valid value; default: the value itself. */
  normalize?(value: unknown): unknown
  /**
   * Returns what is wrong with a value that matches the schema, as a sentence; undefined if nothing is.
   * Called when a rule is written, not for stored rules.
   */
  findIssue?(value: unknown): string | undefined
}

/**
 * A key of `match_json`. Its values are compiled once per rule change: `matcher` returns a function of the
 * request, `literals` returns texts to search in the user's messages, ignoring case. A condition with
 * literals holds if any of them is found; the literals of all rules are searched in one pass.
 */
export type Condition = Operator & {
  /** Returns a warning about a valid value, as a sentence, or undefined. */
  lint?(value: unknown): string | undefined
  /**
   * Names of the request headers that its matchers read, in lower case. They are recorded with prompts. None
   * may carry credentials: such a declaration stops the start.
   */
  readonly headers?: readonly string[]
} & ({ matcher(value: unknown): Matcher } | { literals(value: unknown): readonly string[] })

/** The routing decision that the actions of all matching rules build together. */
export interface RoutingDraft {
  provider?: string
  model?: string
  mode?: Mode
  /** The model was drawn by a split. */
  isDrawn?: boolean
  /** What the target must have: all of these must hold. */
  readonly requirements: Requirement[]
  /** The request for the provider. Actions replace it; they must not change it in place. */
  request: ChatRequest
  readonly warnings: Warning[]
  /** Data for the plugin of the action. It becomes part of `exchange.state`. */
  readonly state: Exchange['state']
}

/** A key of `action_json`. */
export interface Action extends Operator {
  /** `first`: only the first matching rule with this action applies; `all`: every one does. */
  readonly combine: 'first' | 'all'
  /**
   * What it decides: `model`, `provider`, `mode`, or a name of the plugin's own. Of all actions that decide
   * the same, only the first applies; `combine` must be `first`.
   */
  readonly chooses?: string
  /**
   * Chooses what is applied to one request. Must depend on its parameters only, so that the decision about a
   * recorded request can be made again. Default: the stored value.
   */
  choose?(value: unknown, input: RoutingInput, ruleId: number): ActionChoice
  /** Changes the draft. `value` is the stored or the chosen value. */
  apply(value: unknown, draft: RoutingDraft): void
}

/** What an action applies to one request: a value, or nothing, with the reason for the trace. */
export type ActionChoice =
  | {
      readonly value: unknown
      /** Names the choice in the trace. Must come from the stored value, or a few others. */
      readonly arm?: string
    }
  | { readonly skipped: string }

/**
 * The event types of a plugin, and the state built from them. The log stores a type as `{plugin}:{type}`, in
 * the stream `plugin-{plugin}:{subject}`, so plugins cannot collide.
 */
export interface EventDeclaration<State = unknown, Event extends NewEvent = NewEvent> {
  /** JSON schemas of `data`, by event type. Checked on append. */
  readonly types: Readonly<Record<Event['type'], JsonObject>>
  /** Version of the schemas; default 1. A change of a schema must increment it and add an upcast. */
  readonly version?: number
  /** Upcasts from older versions. Types are without the plugin's name. */
  readonly upcasts?: Upcasts
  /** Returns the state before the first event. */
  initial(): State
  /**
   * Returns the state after the event: a new object, or `state` changed in place. Must be deterministic and
   * depend on nothing but its parameters.
   */
  evolve(state: State, event: PluginEvent<Event>): State
}

/** A stored event of a plugin, converted to the current version. `type` is without the plugin's name. */
export type PluginEvent<Event extends NewEvent = NewEvent> = Event & {
  /** The subject passed to `append`. */
  readonly subject: string
  /** Number of the event among those of its subject, from 0. */
  readonly revision: number
  readonly position: Position
  /** ISO 8601 UTC with six decimals. */
  readonly time: string
} & Author

/** A plugin's own events. */
export interface PluginEvents<State = unknown, Event extends NewEvent = NewEvent> {
  /**
   * Returns the state after all events that this process has applied; in `setup`, all stored events. Throws
   * if `evolve` failed.
   */
  state(): State
  /**
   * Appends events to a subject, such as `user-7`. Resolves when they are on disk and `state()` includes
   * them. A function computes the events from the state; it is called again if another writer changed the
   * subject in the meantime. Resolves to undefined if there are no events. Rejects if an event does not match
   * its schema, and with `EventLogUnavailableError` while the event log is unavailable.
   */
  append(
    subject: string,
    events: readonly Event[] | ((state: State) => readonly Event[]),
    author: Author,
  ): Promise<Appended | undefined>
  /** Yields the events of a subject, oldest first. */
  read(subject: string): AsyncIterable<PluginEvent<Event>>
}
