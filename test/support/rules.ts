import type { FirewallRule, RoutingRule, RuleSet } from '../../core/contract/index.ts'

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

/** A user's rules; those without an id of their own are numbered in order. */
export function ruleSet(firewall: readonly FirewallRule[], routing: readonly RoutingRule[] = []): RuleSet {
  const number = <Rule extends { id: number }>(rule: Rule, index: number): Rule =>
    rule.id === base.id ? { ...rule, id: index + 1 } : rule
  return { ownerId: 1, position: 1, firewall: firewall.map(number), routing: routing.map(number) }
}
