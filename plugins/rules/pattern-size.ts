import { GatewayError, type Rule, type RuleSet } from '../../core/contract/index.ts'
import { createCooperativeYield } from '../../core/util/cooperative-yield.ts'
import type { RuleEvent } from '../../projections/events/rules.ts'
import { allRules } from '../../projections/rules.ts'

/**
 * Limits for the rules of a user or a policy, in characters. Patterns are those of firewall rules, and the
 * conditions of routing and tool rules as JSON: they are compiled together. Actions are those of routing
 * rules as JSON: a request may get the warnings of all of them.
 */
const LIMITS = { patterns: 500_000, actions: 1_000_000 }

interface RuleSize {
  readonly patterns: number
  readonly actions: number
}

const NOTHING: RuleSize = { patterns: 0, actions: 0 }

/**
 * Throws 400 if the events would take the patterns or the actions of an owner beyond the limit, or further
 * beyond it.
 */
export function checkPatternSize(rules: RuleSet, events: readonly RuleEvent[]): void {
  const changed = new Map<number, RuleSize>(events.map(({ data }) => [data.ruleId, NOTHING]))
  const before = { patterns: 0, actions: 0 }
  for (const rule of allRules(rules)) {
    const size = sizeOfRule(rule)
    before.patterns += size.patterns
    before.actions += size.actions
    if (changed.has(rule.id)) changed.set(rule.id, size)
  }
  const after = { ...before }
  for (const event of events) {
    const { ruleId } = event.data
    const old = changed.get(ruleId) ?? NOTHING
    const size = sizeAfter(event, old)
    after.patterns += size.patterns - old.patterns
    after.actions += size.actions - old.actions
    changed.set(ruleId, size)
  }
  for (const what of ['patterns', 'actions'] as const) {
    if (after[what] <= LIMITS[what] || after[what] <= before[what]) continue
    const message =
      `The ${what} of all rules together would have ${after[what]} characters; ${LIMITS[what]} are ` +
      'allowed. Shorten or delete some.'
    throw new GatewayError('invalid_rule', message)
  }
}

/** A rule that changes is another object. Measuring thousands for every change would hold up others. */
const sizes = new WeakMap<Rule, RuleSize>()

/** Measures the rules of an owner in time slices, so that `checkPatternSize` need not. */
export async function measureRules(rules: RuleSet): Promise<void> {
  const slice = createCooperativeYield()
  for (const rule of allRules(rules)) {
    sizeOfRule(rule)
    if (slice.isDue()) await slice.yieldNow()
  }
}

function sizeOfRule(rule: Rule): RuleSize {
  const known = sizes.get(rule)
  if (known !== undefined) return known
  const size = measureRule(rule)
  sizes.set(rule, size)
  return size
}

function measureRule(rule: Rule): RuleSize {
  if ('pattern' in rule) return { patterns: rule.pattern.length, actions: 0 }
  if ('match' in rule) return { patterns: lengthOf(rule.match), actions: 0 }
  return { patterns: lengthOf(rule.match_json), actions: lengthOf(rule.action_json) }
}

/** The size of the event's rule after it. */
function sizeAfter(event: RuleEvent, old: RuleSize): RuleSize {
  switch (event.type) {
    case 'FirewallRuleCreated':
      return { patterns: event.data.content.pattern.length, actions: 0 }
    case 'FirewallRuleUpdated':
      return { patterns: event.data.changes.pattern?.length ?? old.patterns, actions: 0 }
    case 'RoutingRuleCreated': {
      const { match_json, action_json } = event.data.content
      return { patterns: lengthOf(match_json), actions: lengthOf(action_json) }
    }
    case 'RoutingRuleUpdated': {
      const { match_json, action_json } = event.data.changes
      return {
        patterns: match_json === undefined ? old.patterns : lengthOf(match_json),
        actions: action_json === undefined ? old.actions : lengthOf(action_json),
      }
    }
    case 'ToolRuleCreated':
      return { patterns: lengthOf(event.data.content.match), actions: 0 }
    case 'ToolRuleUpdated': {
      const { match } = event.data.changes
      return { patterns: match === undefined ? old.patterns : lengthOf(match), actions: 0 }
    }
    case 'FirewallRuleDeleted':
    case 'RoutingRuleDeleted':
    case 'ToolRuleDeleted':
      return NOTHING
    default:
      return event satisfies never
  }
}

function lengthOf(json: object): number {
  return JSON.stringify(json).length
}
