import type { FirewallRule, RoutingRule } from '../contract/index.ts'

type ServerFields = 'id' | 'user_id' | 'created_at' | 'updated_at' | 'revision'

/** What the owner decides about a rule. */
export type RoutingContent = Omit<RoutingRule, ServerFields>
export type FirewallContent = Omit<FirewallRule, ServerFields>

/** On an event that brings an old state of the rule back: the revision that had it. */
export type Reverting = {
  readonly revertedTo?: number
}

/** On one that brings a deleted rule back: the rule goes on where it ended. */
export type Reviving = Reverting & {
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
  | { type: 'RoutingRuleCreated'; data: Concerned & Reviving & { content: RoutingContent } }
  | { type: 'RoutingRuleUpdated'; data: Concerned & Reverting & { changes: Partial<RoutingContent> } }
  | { type: 'RoutingRuleDeleted'; data: Concerned }
  | { type: 'FirewallRuleCreated'; data: Concerned & Reviving & { content: FirewallContent } }
  | { type: 'FirewallRuleUpdated'; data: Concerned & Reverting & { changes: Partial<FirewallContent> } }
  | { type: 'FirewallRuleDeleted'; data: Concerned }

export const rulesStream = (userId: number): string => `rules-${userId}`
