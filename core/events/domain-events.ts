import type { FirewallRule, JsonObject, Message, Plan, RequestLimit, RoutingRule } from '../contract/index.ts'

/** What happens to a user and to the user's keys; stream `user-{id}`. Of a key only the SHA-256 is ever written. */
export type UserEvent =
  | { type: 'UserCreated'; data: { userId: number; name: string; plan: Plan } }
  | { type: 'PlanChanged'; data: { userId: number; plan: Plan } }
  | { type: 'RequestLimitChanged'; data: { userId: number; requestsPerMinute?: RequestLimit } }
  | { type: 'KeyIssued'; data: { userId: number; keyId: string; hash: string } }
  | { type: 'KeyRevoked'; data: { userId: number; keyId: string } }

export const userStream = (userId: number): string => `user-${userId}`

type ServerFields = 'id' | 'user_id' | 'created_at' | 'updated_at' | 'revision'

/** What the owner decides about a rule. */
export type RoutingContent = Omit<RoutingRule, ServerFields>
export type FirewallContent = Omit<FirewallRule, ServerFields>

/** On an event that brings an old state of the rule back: the revision that had it. */
export type RevertFields = {
  readonly revertedTo?: number
}

/** On one that brings a deleted rule back: the rule goes on where it ended. */
export type RestoreFields = RevertFields & {
  readonly revision?: number
  readonly createdAt?: string
}

type Concerned = {
  readonly userId: number
  readonly ruleId: number
}

/**
 * What happens to a user's rules. Both kinds share the stream `rules-{userId}`: a batch over both kinds is one append,
 * so it happens whole or not at all on every log, and one revision guards it.
 */
export type RuleEvent =
  | { type: 'RoutingRuleCreated'; data: Concerned & RestoreFields & { content: RoutingContent } }
  | { type: 'RoutingRuleUpdated'; data: Concerned & RevertFields & { changes: Partial<RoutingContent> } }
  | { type: 'RoutingRuleDeleted'; data: Concerned }
  | { type: 'FirewallRuleCreated'; data: Concerned & RestoreFields & { content: FirewallContent } }
  | { type: 'FirewallRuleUpdated'; data: Concerned & RevertFields & { changes: Partial<FirewallContent> } }
  | { type: 'FirewallRuleDeleted'; data: Concerned }

export const rulesStream = (userId: number): string => `rules-${userId}`

/** What became of a call of the Responses API; stream `response-{id}`, of one event, that expires. Not followed: read when asked for. */
export type ResponseEvent =
  | { type: 'ResponseCompleted'; data: StoredResponse }
  | { type: 'ResponseFailed'; data: StoredResponse }

export interface StoredResponse {
  readonly userId: number
  /** The form in which the response was answered. */
  readonly form: ResponseForm
  /** What the call itself said, as it went to the model: masked where the firewall masks. */
  readonly input: readonly Message[]
  /** The response in OpenAI's form. */
  readonly response: JsonObject
  /** In which pieces it was streamed; not there when it was not. */
  readonly pace?: ChunkLengths
}

/** Text parts of the type `text`, as in the interface, or `output_text`, as OpenAI's clients need it. */
export type ResponseForm = 'interface' | 'openai'

/** Runs of pieces of one output item: its place in the output, then the length of each piece. 0 is the beginning of a tool call. */
export type ChunkLengths = readonly (readonly number[])[]

/** The stream of a response; `seed` are the 24 characters that its id shares with the call's request id. */
export const responseStream = (seed: string): string => `response-${seed}`

/** Numbers taken for users and rules: `count` of them from `first` on; stream `ids`. */
export type IdEvent = { type: 'IdsReserved'; data: { first: number; count: number } }

export const IDS_STREAM = 'ids'
