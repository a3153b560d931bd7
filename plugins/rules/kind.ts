import type { FirewallRule, JsonObject, RoutingRule, Warning } from '../../core/contract/index.ts'
import type { Reverting, Reviving, RuleEvent } from '../../core/events/rules.ts'
import type { RuleKindName } from '../../projections/rules.ts'
import type { RuleField } from './fields.ts'

/** What the two kinds of rules differ in; commands and endpoints are the same for both. */
export interface RuleKind<Rule extends RoutingRule | FirewallRule, Content> {
  readonly name: RuleKindName
  /** What the owner of a rule sets, in table order. */
  readonly fields: readonly RuleField[]
  /** Throws a `GatewayError` in the kind's own style of validation. */
  readNew(body: JsonObject): Content
  /** Only the given fields. */
  readChanges(body: JsonObject): Partial<Content>
  /** `reviving` when the rule was deleted and comes back. */
  created(userId: number, ruleId: number, content: Content, reviving?: Reviving): RuleEvent
  updated(userId: number, ruleId: number, changes: Partial<Content>, reverting?: Reverting): RuleEvent
  deleted(userId: number, ruleId: number): RuleEvent
  /** The rule as the API shows it. */
  show(rule: Rule): JsonObject
  /** What the owner should know about a rule that was accepted. */
  remark(rule: Rule): readonly Warning[]
}
