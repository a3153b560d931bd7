import type { FirewallRule, RoutingRule, RuleSet, ToolRule } from '../../core/contract/index.ts'
import { createOperatorRegistry } from '../../core/pipeline/registries.ts'
import { createFirewallRuleKind } from '../../plugins/firewall/index.ts'
import { createRoutingRuleKind } from '../../plugins/routing/index.ts'
import type { RuleKinds } from '../../plugins/rules/index.ts'
import { toolRules } from '../../plugins/tool-rules/index.ts'

/** The kinds of rules, without conditions and actions of routing rules. */
export const TEST_KINDS: RuleKinds = {
  routing: createRoutingRuleKind(createOperatorRegistry()),
  firewall: createFirewallRuleKind(false),
  tool: toolRules,
}

const TIME = '2026-11-20T10:00:00.000000Z'
const base = {
  id: 1,
  user_id: 1,
  name: 'A rule',
  is_enabled: true,
  priority: 0,
  created_at: TIME,
  updated_at: TIME,
  revision: 1,
}

/** A firewall rule that masks; what is given differs. */
export function firewallRule(more: Partial<FirewallRule> = {}): FirewallRule {
  return {
    ...base,
    scope: 'prompt',
    type: 'substring',
    pattern: 'secret',
    action: 'mask',
    replacement: null,
    ...more,
  }
}

/** A routing rule that matches everything and does nothing; what is given differs. */
export function routingRule(more: Partial<RoutingRule> = {}): RoutingRule {
  return { ...base, match_json: {}, action_json: {}, ...more }
}

/** A tool rule that matches every call and denies it; what is given differs. */
export function toolRule(more: Partial<ToolRule> = {}): ToolRule {
  return { ...base, match: {}, action: 'deny', ...more }
}

/** A user's rules; those without an id of their own are numbered in order. */
export function ruleSet(
  firewall: readonly FirewallRule[],
  routing: readonly RoutingRule[] = [],
  tool: readonly ToolRule[] = [],
): RuleSet {
  const number = <Rule extends { id: number }>(rule: Rule, index: number): Rule =>
    rule.id === base.id ? { ...rule, id: index + 1 } : rule
  const rules = { firewall: firewall.map(number), routing: routing.map(number), tool: tool.map(number) }
  return { ownerId: 1, position: 1, ...rules }
}
