/** What the endpoints return, as far as the console shows it. */

export interface CurrentSession {
  readonly type: 'root' | 'operator' | 'user'
  readonly id: string
  readonly name: string
  readonly role: Role | null
  readonly user_id: number | null
  readonly plan: string | null
  readonly csrf_token: string
  readonly expires_at: string
}

export type Role = 'admin' | 'editor' | 'auditor'

export type RuleKind = 'firewall' | 'routing'

export interface Rule {
  readonly id: number
  readonly name: string
  readonly is_enabled: boolean
  readonly priority: number
  readonly scope?: string
  readonly type?: string
  readonly pattern?: string
  readonly action?: string
  readonly replacement?: string | null
  readonly pattern_error?: string
  readonly match_json?: Readonly<Record<string, unknown>>
  readonly action_json?: Readonly<Record<string, unknown>>
  readonly origin?: RuleOrigin
  readonly revision?: number
}

export interface RuleOrigin {
  readonly type: 'policy' | 'user'
  readonly id: number
  readonly name?: string
}

export interface Policy {
  readonly id: number
  readonly name: string
  readonly description?: string | null
  readonly is_enabled: boolean
  readonly priority: number
  readonly applies_to: PolicyTargets
  /** What users see of its rules. */
  readonly visibility: 'name' | 'full'
}

export interface PolicyTargets {
  readonly everyone?: true
  readonly groups?: readonly number[]
  readonly users?: readonly number[]
}

export interface Actor {
  readonly type: string
  readonly id: string
  readonly name: string
}

export interface AuditEntry {
  readonly position: number
  readonly time: string
  readonly actor: Actor
  readonly request_id: string | null
  readonly reason?: string
  readonly kind: string
  readonly id: number | string | null
  readonly event: string
  readonly no_effect?: string
  readonly user_id?: number | null
  readonly policy_id?: number
  readonly group_id?: number
  readonly data?: Readonly<Record<string, unknown>>
  readonly before?: Readonly<Record<string, unknown>> | null
  readonly after?: Readonly<Record<string, unknown>> | null
  readonly revision?: number
}

export interface TraceEntry {
  readonly kind: string
  readonly rule_id: number
  readonly name: string
  readonly action: string
  readonly outcome: string
  readonly origin?: RuleOrigin
  readonly scope?: string
  readonly reason?: string
  readonly arm?: string
}

export interface RequestRecord {
  readonly x_request_id: string
  readonly time: string
  readonly user_id: number
  readonly key_id: string
  readonly group_ids: readonly number[]
  readonly endpoint: string
  readonly outcome: string
  readonly status: number
  readonly error?: { readonly code: string; readonly message?: string }
  readonly requested_model: string | null
  readonly routing_mode: string | null
  readonly routing_reason: string | null
  readonly provider: string | null
  readonly model: string | null
  readonly attempts: readonly { provider: string; model: string; outcome: string; ms: number }[]
  readonly rules_position: number
  readonly rule_trace: readonly TraceEntry[]
  readonly warnings: readonly { code: string; message: string }[]
  readonly tokens: Readonly<Record<string, number>> | null
  readonly cost_usd: number | null
  readonly latency_ms: number
  readonly first_token_ms: number | null
  readonly stream: boolean
  readonly cache_hit: boolean
  /** The version of a learned router, what it thought of the model, and how probable the choice was. */
  readonly router: {
    readonly version: number
    readonly p: number | null
    readonly propensity: number | null
  } | null
  /** The model that a split has drawn. */
  readonly routing_arm: string | null
  /** The request that this one is a copy of. */
  readonly shadow_of: string | null
  readonly signals: readonly string[]
  readonly feedback: readonly RequestFeedback[]
  readonly rules?: readonly RuleThenAndNow[]
}

/** What was said about an answer. */
export interface RequestFeedback {
  readonly name: string
  /** From 0 to 1. */
  readonly score: number
  readonly comment: string | null
}

/** A rule of a request as it decided then, and as it is now. */
export interface RuleThenAndNow {
  readonly kind: RuleKind
  readonly id: number
  readonly as_decided: Rule | null
  readonly current: Rule | null
  readonly state: 'unchanged' | 'changed' | 'deleted'
}

export interface Page<Item> {
  readonly data: readonly Item[]
  readonly next_cursor: string | null
}

export interface UsageRow {
  readonly requests: number
  readonly errors: number
  readonly unknown_costs: number
  readonly tokens: Readonly<Record<string, number>>
  readonly cost_usd: number
  readonly ratings: number
  readonly mean_score: number | null
  readonly [dimension: string]: unknown
}

export interface ApiKey {
  readonly id: string
  readonly name?: string
  readonly models?: readonly string[]
  readonly endpoints?: readonly string[]
  readonly expires_at?: string
  readonly created_at: string
  readonly revoked_at: string | null
  readonly last_used_at?: string | null
}

export interface UserAccount {
  readonly id: number
  readonly name: string
  readonly plan: string
  readonly requests_per_minute?: number | null
  readonly groups: readonly number[]
  readonly created_at: string
  readonly keys: readonly ApiKey[]
}

export interface Group {
  readonly id: number
  readonly name: string
  readonly description: string | null
}

export interface OperatorRow {
  readonly id: string
  readonly name: string
  readonly role: Role
  readonly created_at: string
}

export interface RouterRow {
  readonly version: number
  /** Null: everyone. */
  readonly group_id: number | null
  readonly is_active: boolean
  readonly models: readonly { readonly model: string; readonly ratings: number }[]
  readonly figures: Readonly<Record<string, unknown>>
  readonly trained_from: { readonly raters?: number; readonly largest_rater_share?: number }
  readonly trained_at: string
}

export interface BudgetState {
  readonly limit_usd: number
  readonly period: string
  readonly on_exceed: string
  readonly spent_usd: number
  readonly reserved_usd: number
  readonly remaining_usd: number
}
