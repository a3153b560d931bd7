import type { FirewallRule, RoutingRule } from '../contract/index.ts'

type ServerFields = 'id' | 'user_id' | 'created_at' | 'updated_at' | 'revision'

/** What the owner decides about a rule. */
export type RoutingContent = Omit<RoutingRule, ServerFields>
export type FirewallContent = Omit<FirewallRule, ServerFields>

/**
 * What happens to a user's rules. Both kinds share the stream `rules-{userId}`: a batch over both kinds is one append,
 * so it happens whole or not at all on every log, and one revision guards it.
 */
export type RuleEvent =
  | { type: 'RoutingRuleCreated'; data: { userId: number; ruleId: number; content: RoutingContent } }
  | { type: 'RoutingRuleUpdated'; data: { userId: number; ruleId: number; changes: Partial<RoutingContent> } }
  | { type: 'RoutingRuleDeleted'; data: { userId: number; ruleId: number } }
  | { type: 'FirewallRuleCreated'; data: { userId: number; ruleId: number; content: FirewallContent } }
  | {
      type: 'FirewallRuleUpdated'
      data: { userId: number; ruleId: number; changes: Partial<FirewallContent> }
    }
  | { type: 'FirewallRuleDeleted'; data: { userId: number; ruleId: number } }

export const rulesStream = (userId: number): string => `rules-${userId}`
