export { createFirewallRuleKind } from './rule-kind.ts'
