import type { FirewallRule, RoutingRule } from '../contract/index.ts'

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
