import type {
  FirewallRule,
  JsonObject,
  KeyRestrictions,
  Message,
  Plan,
  RequestLimit,
  RoutingRule,
} from '../contract/index.ts'

/** Changes to a user, the user's keys and groups, in stream `user-{id}`. Keys are stored as SHA-256 only. */
export type UserEvent =
  | { type: 'UserCreated'; data: { userId: number; name: string; plan: Plan } }
  | { type: 'PlanChanged'; data: { userId: number; plan: Plan } }
  | { type: 'RequestLimitChanged'; data: { userId: number; requestsPerMinute?: RequestLimit } }
  | { type: 'TokenLimitChanged'; data: { userId: number; tokensPerMinute?: RequestLimit } }
  | { type: 'ConcurrencyLimitChanged'; data: { userId: number; maxConcurrent?: RequestLimit } }
  | { type: 'BudgetSet'; data: { userId: number; keyId?: string; budget: Budget } }
  | { type: 'BudgetRemoved'; data: { userId: number; keyId?: string } }
  | { type: 'UserRenamed'; data: { userId: number; name: string } }
  | { type: 'UserDeleted'; data: { userId: number } }
  | { type: 'KeyIssued'; data: IssuedKeyData & KeyTerms }
  | { type: 'KeyExpirySet'; data: { userId: number; keyId: string; expiresAt: string } }
  | { type: 'KeyRevoked'; data: { userId: number; keyId: string } }
  | { type: 'UserAddedToGroup'; data: { userId: number; groupId: number } }
  | { type: 'UserRemovedFromGroup'; data: { userId: number; groupId: number } }

type IssuedKeyData = {
  readonly userId: number
  readonly keyId: string
  readonly hash: string
  readonly name?: string
  /** Id of the key whose rotation issued this one. */
  readonly replaces?: string
}

/** The restrictions of a key. */
export type KeyTerms = KeyRestrictions & {
  /** ISO 8601 UTC with six decimals. */
  readonly expiresAt?: string
}

export const BUDGET_PERIODS = ['day', 'week', 'month', 'total'] as const

export const BUDGET_REACTIONS = ['refuse', 'downgrade'] as const

/** What may be spent in each period. See docs/decisions/limits.md, "A budget is an event of its user". */
export interface Budget {
  readonly limitUsd: number
  readonly period: (typeof BUDGET_PERIODS)[number]
  /** The share of the limit from which answers have a warning. */
  readonly warnRatio?: number
  readonly onExceed: (typeof BUDGET_REACTIONS)[number]
}

/** Changes to the budgets of everything together, and of copies for other models; stream `budget`. */
export type OverallBudgetEvent =
  | { type: 'OverallBudgetSet' | 'ShadowBudgetSet'; data: { budget: Budget } }
  | { type: 'OverallBudgetRemoved' | 'ShadowBudgetRemoved'; data: Readonly<Record<never, never>> }

export const OVERALL_BUDGET_STREAM = 'budget'

export const userStream = (userId: number): string => `user-${userId}`

type ServerFields = 'id' | 'user_id' | 'policy_id' | 'created_at' | 'updated_at' | 'revision'

/** The fields of a rule that its owner sets. */
export type RoutingContent = Omit<RoutingRule, ServerFields>
export type FirewallContent = Omit<FirewallRule, ServerFields>

/**
 * Set on events that revert a rule: the revision whose content was restored. See docs/decisions/rules.md, "A
 * revert is an update or a creation with a note".
 */
export type RevertFields = {
  readonly revertedTo?: number
}

/**
 * Set on events that restore a deleted rule, which keeps its creation time and continues its revisions. See
 * docs/decisions/rules.md, "A deleted rule is restored under its own id".
 */
export type RestoreFields = RevertFields & {
  readonly revision?: number
  readonly createdAt?: string
}

/** The user or the policy that rules belong to. */
export type RuleOwner = { readonly userId: number } | { readonly policyId: number }

type RuleReference = RuleOwner & {
  readonly ruleId: number
}

/**
 * Changes to the rules of a user or a policy. Both kinds share the stream `rules-{userId}`, or
 * `policy-{policyId}`, so that a batch of changes to both kinds is one append: atomic on every log, and
 * checked against one revision.
 */
export type RuleEvent =
  | { type: 'RoutingRuleCreated'; data: RuleReference & RestoreFields & { content: RoutingContent } }
  | { type: 'RoutingRuleUpdated'; data: RuleReference & RevertFields & { changes: Partial<RoutingContent> } }
  | { type: 'RoutingRuleDeleted'; data: RuleReference }
  | { type: 'FirewallRuleCreated'; data: RuleReference & RestoreFields & { content: FirewallContent } }
  | {
      type: 'FirewallRuleUpdated'
      data: RuleReference & RevertFields & { changes: Partial<FirewallContent> }
    }
  | { type: 'FirewallRuleDeleted'; data: RuleReference }

/** See docs/decisions/event-log.md, "One stream of rule events per user, for both kinds". */
export const rulesStream = (userId: number): string => `rules-${userId}`

/**
 * The result of a call of the Responses API: the first event of the expiring stream `response-{id}`, written
 * together with a `ResponseClosed`. A result that is larger than an append is written as JSON text in several
 * `ResponsePart`, and is visible once the `ResponseClosed` with their number is there. Not delivered to
 * subscribers; read on demand. See docs/decisions/responses.md, "The last event of a response is empty".
 */
export type ResponseEvent =
  | { type: 'ResponseCompleted'; data: StoredResponse }
  | { type: 'ResponseFailed'; data: StoredResponse }

/** The other events of the stream of a response. */
export type ResponseStreamEvent =
  | { type: 'ResponsePart'; data: { text: string } }
  | { type: 'ResponseClosed'; data: { parts?: number } }

export interface StoredResponse {
  readonly userId: number
  /** The form that plain HTTP tools see. */
  readonly form: ResponseForm
  /** The call's own input as it was sent to the model, after firewall masking. */
  readonly input: readonly Message[]
  /** The response in OpenAI's form. */
  readonly response: JsonObject
  /** How the response was split into stream events; undefined if it was not streamed. */
  readonly pace?: ChunkLengths
}

/**
 * `openai` is as OpenAI's clients require: text parts are `output_text`, `metadata` is a map of strings.
 * `interface` is the gateway's own: text parts are `text`, `metadata` holds numbers and arrays.
 */
export type ResponseForm = 'interface' | 'openai'

/**
 * Runs of chunks of one output item: the item's index in the output, then the length of each chunk. A length
 * of 0 is the start of a tool call. See docs/decisions/responses.md, "A stored response is the answer plus
 * the lengths of its chunks".
 */
export type ChunkLengths = readonly (readonly number[])[]

/**
 * The stream of a response. `responseKey` is the 24 characters that its id shares with the call's request id.
 * See docs/decisions/responses.md, "A response and its call share 24 characters".
 */
export const responseStream = (responseKey: string): string => `response-${responseKey}`

/**
 * A reservation of `count` numbers for users, rules, groups and policies, starting at `first`; stream `ids`.
 */
export type IdEvent = { type: 'IdsReserved'; data: { first: number; count: number } }

export const IDS_STREAM = 'ids'

/**
 * The identity of the event log, the first event of a new one; stream `log`. See docs/decisions/event-log.md,
 * "A log has an identity".
 */
export type LogEvent = { type: 'LogCreated'; data: { id: string } }

/**
 * A signed checkpoint over the events before it; stream `checkpoints`. See docs/decisions/evidence.md,
 * "Checkpoints are leaves, too".
 */
export type CheckpointEvent = {
  type: 'CheckpointSigned'
  data: {
    /** The checkpoint as a C2SP signed note. */
    note: string
    /** The public key of the signature, as C2SP writes it. */
    key: string
    /** SHA-256 of the positions since the previous checkpoint of this log, as 64-bit integers, in hex. */
    positions: string
  }
}
