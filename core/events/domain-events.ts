import type { FirewallRule, JsonObject, Message, RoutingRule } from '../contract/index.ts'

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
