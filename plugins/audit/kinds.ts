import type { FirewallRule, RoutingRule } from '../../core/contract/index.ts'
import type { FirewallContent, RoutingContent } from '../../core/events/rules.ts'
import type { RuleKind } from '../rules/kind.ts'

/** Both kinds of rules. */
export interface RuleKinds {
  readonly routing: RuleKind<RoutingRule, RoutingContent>
  readonly firewall: RuleKind<FirewallRule, FirewallContent>
}
