import type { IncomingHttpHeaders } from 'node:http'
import type { DefaultState } from 'koa'
import type { ChatRequest, FinishReason, Reply, Usage } from './chat.ts'
import type { GatewayError } from './errors.ts'
import type { Actor, Position } from './event-log.ts'
import type { JsonObject } from './json.ts'
import type { Model, Operation, Requirement, Target } from './provider.ts'
import type { Mode, NamedScope, RuleOrigin, RuleSet } from './rules.ts'

/**
 * One inference request, once its body is read. Plugins read what earlier ones set and add their own. In the
 * phase `decide`, no provider has been called yet.
 */
export interface Exchange {
  /** `req_…`; also the `x-request-id` header. */
  readonly id: string
  /** The W3C trace id; undefined if the request is not traced. */
  readonly traceId?: string | undefined
  /** Path of the inference endpoint, such as `/v1/chat/completions`; undefined if the request is not sent. */
  readonly endpoint?: string | undefined
  /** What the request asks a model for. Undefined: `chat`. */
  readonly operation?: Operation | undefined
  readonly account: Account
  /** The client's connection. Every wait must end when the client disconnects. */
  readonly client: ClientConnection
  /** The request's HTTP headers; names are lower case. */
  readonly headers: IncomingHttpHeaders
  /** The request is simulated: nothing may be called outside of the gateway. */
  readonly isSimulated?: true
  /** Koa's `ctx.state`: a place for data that plugins keep per request. */
  readonly state: DefaultState
  /** `performance.now()` when the request arrived. */
  readonly startedAt: number
  /** When it was admitted, when its body was read, and when it was decided, as of `performance.now()`. */
  readonly admittedAt?: number | undefined
  readonly readAt?: number | undefined
  readonly decidedAt?: number | undefined
  /**
   * The rules of the policies that applied to the user when the request arrived, in evaluation order. They
   * precede the user's own.
   */
  readonly policies: readonly RuleSet[]
  /** The user's rules when the request arrived; `plan` clears them if the user's plan includes no rules. */
  rules: RuleSet
  /**
   * Log position of the caller's policies, rules and account. Queries with this `as_of` show the same rules.
   */
  readonly rulesPosition: number
  /** The request in canonical form. The firewall replaces it when it masks text. */
  request: ChatRequest
  /** The request before any plugin replaced it. */
  readonly received: ChatRequest
  /** `metadata` of the request as the response repeats it. The firewall replaces it when it masks text. */
  metadata?: JsonObject | undefined
  /** Set by `routing`: the targets to try, best first. */
  route?: Route
  /** Set by `routing`: what rules require of every target and deployment, also of routes that plugins set. */
  requires?: Requirement
  /** Models preferred by the caller, best first. They are tried before automatic routing. */
  readonly preferences: readonly string[]
  /** Request fields that the endpoint filled in. Omitting them for a target needs no warning. */
  readonly defaulted: readonly string[]
  /** See `Dialect`. */
  readonly sentDefaults?: Readonly<Pick<ChatRequest, 'temperature'>>
  /** The caller's names of request fields whose names in the canonical form are others. */
  readonly parameterNames?: Readonly<Record<string, string>>
  /** Added to `signalbox.warnings` and `metadata.warnings` of the response. */
  readonly warnings: Warning[]
  /** Added to `signalbox.rule_trace` of the response, if the caller wants it. */
  readonly trace: RuleTraceEntry[]
}

/** Response headers of the gateway itself. A header that a plugin sets by the same name wins. */
export interface DefaultHeaders {
  /**
   * Sets a header. The name is lower case and set at most once per response. Has no effect once the head is
   * sent. For plugin packages, throws a `TypeError` if it cannot be sent, or describes the body or the
   * connection.
   */
  setDefaultHeader(name: string, value: string): void
}

/** The exchange in the phase `reply`: decided, and about to be answered by a provider or a plugin. */
export interface ReplyingExchange extends Exchange {
  /** The target that replied. Set by `dispatch`; plugins that reply themselves may set it. */
  target?: Target
  /** The provider calls so far. */
  readonly attempts: Attempt[]
  /** Returns headers for a call to a provider that is about to be sent. Set by `tracing`. */
  headersOfCall?(target: Target): Readonly<Record<string, string>>
  /** For headers of the response. */
  readonly res: DefaultHeaders
}

/** The exchange from the phase `inspect` on: the reply has started. */
export interface RepliedExchange extends ReplyingExchange {
  readonly reply: Reply
  /** Set by `decorate`: extension fields of the response. */
  decoration?: Decoration
  /** Token usage; undefined until the provider reports it. Includes what plugins change or drop. */
  readonly usage?: Usage
  /**
   * Cost in US dollars; undefined until the reply has ended, or if there was none. Null if it is unknown: the
   * catalogue has no price, or the provider reported no usage. 0 if no provider was called.
   */
  readonly costUsd?: number | null
  /** Why the model stopped; undefined until the provider reports it. */
  readonly finishReason?: FinishReason
  /**
   * Checks the complete reply as the provider sent it. Set if the request has tools or demands JSON. Parses
   * the reply, so call it at most once, and not before the response has ended.
   */
  answerIssues?(): readonly AnswerIssue[]
  /** Why the reply failed after it had started. */
  readonly error?: GatewayError
}

/**
 * `invalid_tool_call`: the arguments of a tool call are not a JSON object. `schema_mismatch`: the text is not
 * the JSON that the request demands.
 */
export type AnswerIssue = 'invalid_tool_call' | 'schema_mismatch'

/** An exchange after its response has ended. Fields are missing if the request failed before their phase. */
export type EndedExchange = ReplyingExchange & Partial<RepliedExchange>

export interface Route {
  readonly mode: Mode
  /** Never empty. A fixed route has exactly one target. */
  readonly targets: readonly [Target, ...Target[]]
  /** The request or a rule chose the target: it is retried once, and there is no failover. */
  readonly isFixed: boolean
  /**
   * How many of the first targets honour the parameters of the request best. The others are tried only after
   * these. Default: all.
   */
  readonly bestTargets?: number
  /** Returns every model that could have served the request, for cost comparison. */
  candidates(): readonly Model[]
  /**
   * Returns the route of the same request in another mode. `reason` completes "… : provider/model". Undefined
   * for a fixed route.
   */
  reroute?(mode: Mode, reason: string): Route
  /** Why the target was chosen, as one sentence. */
  readonly reason: string
  /** Score of the best target, from 0 to 1; 1 for a fixed route. */
  readonly score: number
  /** The learned router that took part in the choice. */
  readonly router?: RouterChoice
  /** The model that a split has drawn. */
  readonly arm?: string
  /** The first target was kept because the prompt is cached there. Another model was the best one. */
  readonly kept?: KeptChoice
  /** The deployment of the first target that is tried first. */
  readonly deployment?: string
}

/** What a learned router contributed to the choice of a target. */
export interface RouterChoice {
  readonly version: number
  /** P(good | prompt) of the chosen model; null if the version does not know it. */
  readonly probability: number | null
  /** The probability with which the model was drawn to explore; null if nothing was drawn. */
  readonly propensity: number | null
}

/** What keeping a model saves. Empty if the decision is made again, and was recorded. */
export interface KeptChoice {
  /** `provider/model` of the best model. */
  readonly insteadOf?: string
  /** Tokens of the prompt that are expected to be cached. */
  readonly cachedTokens?: number
  readonly savingUsd?: number
}

/** An entry of `signalbox.warnings`. */
export interface Warning {
  readonly code: string
  readonly message: string
  /** `response`: it is about the reply, so the start of a stream does not have it. Missing: the request. */
  readonly scope?: NamedScope
}

/** An entry of `signalbox.rule_trace`: the outcome of one action of one rule. */
export interface RuleTraceEntry {
  /** Kind of the rule. The kinds of a plugin must be a small set: they are values of a metric label. */
  readonly kind: string
  readonly rule_id: number
  readonly name: string
  readonly action: string
  readonly outcome: 'applied' | 'skipped'
  /** Present if the rule belongs to a policy. */
  readonly origin?: RuleOrigin
  /** Present if the rule inspected something other than the request. */
  readonly scope?: NamedScope
  readonly reason?: string
  /** Of actions that choose for each request: what they chose. Of `require`: the requirement. */
  readonly arm?: string
  /** Models that could have served the request and that the requirement excluded. The first ones only. */
  readonly excluded?: string[]
  readonly excluded_count?: number
}

/** One call to a provider. */
export interface Attempt {
  readonly target: Target
  /** `ok`, the error code, or `cancelled` if the client disconnected. */
  readonly outcome: string
  /** `performance.now()` when the request was sent. */
  readonly startedAt: number
  /** Milliseconds until the complete reply, the first events of a stream, or the error. */
  readonly ms: number
  /** The call failed, and the provider may bill it all the same. */
  readonly mayBeBilled?: true
}

/**
 * Extension fields of a response (docs/api.md, "Metadata and warnings"). `first()` is added to the first
 * record of a stream, `last()` to its last record or to a complete response.
 */
export interface Decoration {
  /** Pairs of header name and value. */
  readonly headers: readonly (readonly [string, string])[]
  first(): JsonObject
  last(): JsonObject
}

export const PLANS = ['free', 'paid'] as const

export type Plan = (typeof PLANS)[number]

export function isPlan(text: string): text is Plan {
  return (PLANS as readonly string[]).includes(text)
}

/** A limit of requests, tokens or concurrency. Null: no limit. */
export type RequestLimit = number | null

/** A user's own limits. Undefined: the plan's limit. */
export interface UserLimits {
  readonly requestsPerMinute?: RequestLimit
  readonly tokensPerMinute?: RequestLimit
  /** Inference requests at the same time. */
  readonly maxConcurrent?: RequestLimit
  /** Calls of tools, prompts and resources at `/mcp`. */
  readonly toolCallsPerMinute?: RequestLimit
}

/** What a key is restricted to. A missing list: everything that its user may use. */
export type KeyRestrictions = {
  /** Names of models, or `provider/name`. */
  readonly models?: readonly string[]
  /** Paths of endpoints; each includes the paths below it. */
  readonly endpoints?: readonly string[]
}

/** The authenticated caller. */
export interface Account extends UserLimits, KeyRestrictions {
  readonly userId: number
  readonly name: string
  readonly plan: Plan
  /** Empty for a caller with a token of an identity provider. */
  readonly keyId: string
  /** Whose token it is, if the caller has no key. */
  readonly identity?: CallerIdentity
  /** When the key expires, as a Unix time in milliseconds. */
  readonly keyExpiresAtMs?: number
  /** Log position of the last event about this user. */
  readonly position: Position
}

/** The subject of a token of an identity provider. */
export interface CallerIdentity {
  readonly issuer: string
  readonly subject: string
  /** When the token is no longer accepted, as a Unix time in milliseconds. */
  readonly expiresAtMs: number
}

/** The caller as the author of changes. The name is that of the user at this time. */
export function keyActor({ keyId, identity, name }: Pick<Account, 'keyId' | 'identity' | 'name'>): Actor {
  return identity === undefined ? { type: 'key', id: keyId, name } : identityActor(identity, name)
}

/** The subject of a token as an actor. The issuer is part of the id: a subject may be called root. */
export function identityActor({ issuer, subject }: Omit<CallerIdentity, 'expiresAtMs'>, name: string): Actor {
  return { type: 'identity', id: `${issuer}#${subject}`, name, issuer }
}

/** A WebSocket connection: the same object for all its messages, to keep data by. */
export interface ClientSession {
  readonly isClosed: boolean
  /** The user who opened it, set by the endpoint that admits it. Connections of a user share limits. */
  owner?: number | undefined
  /** Calls `notify` once the connection is closed (immediately if it is). */
  onClose(notify: () => void): void
}

/**
 * How long a request waits for others than the gateway: its body, providers, other services, its turn. A
 * plugin that calls another service says when it begins and ends to wait. What remains is the time of the
 * gateway itself: see docs/api.md, "Own time".
 */
export interface WaitingTime {
  begin(): void
  end(): void
  /** Milliseconds until `now`, as of `performance.now()`. Waits may overlap: time counts once. */
  totalMs(now: number): number
}

/** The connection to the client of a request. */
export interface ClientConnection {
  /** The client disconnected before the response ended. */
  readonly isAborted: boolean
  /**
   * Calls `notify` once if the client disconnects before the response ends (immediately if it already has),
   * or if the gateway ends; the reason is then a `GatewayError`, which the client gets. Returns an
   * unsubscribe function.
   */
  onAbort(notify: (reason: unknown) => void): () => void
  /** Calls `notify` once the response has ended or the client has disconnected (immediately if it has). */
  onClose(notify: () => void): void
  /** Undefined if nobody measures the time of the gateway itself. */
  readonly waiting?: WaitingTime
  /** The WebSocket connection that the request opens or is a message of. Undefined for other requests. */
  readonly session?: ClientSession | undefined
  /**
   * Aborts when the client disconnects or the gateway ends. Created on first use; `onAbort` is cheaper on the
   * hot path.
   */
  readonly signal: AbortSignal
}
