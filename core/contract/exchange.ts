import type { ChatRequest, Reply, Usage } from './chat.ts'
import type { ErrorCode, GatewayError } from './errors.ts'
import type { Position } from './event-log.ts'
import type { JsonObject } from './json.ts'
import type { Model, Target } from './provider.ts'
import type { Mode, RuleSet } from './rules.ts'

/** One inference request on its way through the plugins: each reads what earlier ones left and adds its own. */
export interface Exchange {
  /** `req_…`; also the `x-request-id` header. */
  readonly id: string
  readonly account: Account
  /** Whether the client still waits. Every wait heeds it. */
  readonly client: ClientConnection
  /** `performance.now()` at arrival. */
  readonly startedAt: number
  /** The user's rules as they were at arrival. */
  rules: RuleSet
  /** The log position that decided this request: give it back as `as_of` to see the same rules. */
  readonly rulesPosition: number
  /** The request in canonical form; the firewall replaces it when it masks. */
  request: ChatRequest
  /** Left by routing: where the request may go, best first. */
  route?: Route
  /** Left by dispatch: the target that answered. */
  target?: Target
  /** Left by dispatch. */
  reply?: Reply
  /** Left by decorate: what the answer says about how it came about. */
  decoration?: Decoration
  /** Models that the caller would like, best first; they go before the automatic choice. */
  readonly preferences: readonly string[]
  /** Request fields that the caller left out and the endpoint filled in: leaving them out again needs no warning. */
  readonly defaulted: readonly string[]
  /** What the answer used, once the provider has said so. */
  usage?: Usage
  /** Why a stream broke off after it had begun. */
  error?: GatewayError
  readonly warnings: Warning[]
  readonly trace: RuleTraceEntry[]
  readonly attempts: Attempt[]
}

export interface Route {
  readonly mode: Mode
  /** Never empty. A pinned route has one target. */
  readonly targets: readonly [Target, ...Target[]]
  readonly isFixed: boolean
  /** Every model that could have served the request, for comparing costs. */
  candidates(): readonly Model[]
  /** One sentence that says what decided. */
  readonly reason: string
  /** 0 to 1: the winner's score; 1 for a pinned target. */
  readonly score: number
}

/** An entry of `metadata.warnings`. */
export interface Warning {
  readonly code: string
  readonly message: string
}

/** An entry of `metadata.rule_trace`: what became of one action of one rule. */
export interface RuleTraceEntry {
  readonly kind: 'routing' | 'firewall'
  readonly rule_id: number
  readonly name: string
  readonly action: string
  readonly outcome: 'applied' | 'skipped'
  readonly reason?: string
}

/** One call to a provider. */
export interface Attempt {
  readonly target: Target
  /** `ok`, the code of the error, or `cancelled` when the client left meanwhile. */
  readonly outcome: 'ok' | 'cancelled' | ErrorCode
  /** `performance.now()` when it was sent. */
  readonly startedAt: number
  /** Until the whole reply, the first events of a stream, or the failure. */
  readonly ms: number
}

/** Extension fields of an answer (docs/api.md, "Metadata and warnings"). `first` goes on a stream's first record, `last()` on its last and on a whole answer. */
export interface Decoration {
  /** Names and values. */
  readonly headers: readonly (readonly [string, string])[]
  readonly first: JsonObject
  last(): JsonObject
}

export const PLANS = ['free', 'paid'] as const

export type Plan = (typeof PLANS)[number]

export function isPlan(text: string): text is Plan {
  return (PLANS as readonly string[]).includes(text)
}

/** A user's own limit of requests per minute: `null` is none, left out the plan's limit holds. */
export type RequestLimit = number | null

/** Who is calling, as the auth plugin found it. */
export interface Account {
  readonly userId: number
  readonly name: string
  readonly plan: Plan
  readonly requestsPerMinute?: RequestLimit
  readonly keyId: string
  /** Position of the last event about this user. */
  readonly position: Position
}

/** Whether the client still waits for its answer. */
export interface ClientConnection {
  readonly isAborted: boolean
  /** Calls `notify` once when the client leaves before the answer has ended, at once if it has. Gives back what takes that back. */
  onAbort(notify: (reason: unknown) => void): () => void
  /** Calls `notify` once when the answer has ended or the client has left, at once if that was so. */
  onClose(notify: () => void): void
  /** Aborts when the client leaves. Made on first use, and dear: on the hot path `whenLeft` is better. */
  readonly signal: AbortSignal
}
