import { GatewayError, type RuleSet } from '../../core/contract/index.ts'
import type { RuleEvent } from '../../core/events/domain-events.ts'

/**
 * Characters of all patterns of a user or a policy: those of firewall rules, and the conditions of routing
 * rules as JSON. They are compiled together.
 */
const MAX_PATTERN_CHARACTERS = 500_000

/** Throws 400 if the events would take the patterns of an owner beyond the limit, or further beyond it. */
export function checkPatternSize(rules: RuleSet, events: readonly RuleEvent[]): void {
  const sizes = sizesOf(rules)
  const before = sum(sizes)
  for (const event of events) {
    const size = sizeOf(event)
    if (size !== undefined) sizes.set(event.data.ruleId, size)
  }
  const after = sum(sizes)
  if (after <= MAX_PATTERN_CHARACTERS || after <= before) return
  throw new GatewayError(
    'invalid_rule',
    `The patterns of all rules together would have ${after} characters; ${MAX_PATTERN_CHARACTERS} are ` +
      'allowed. Shorten or delete some.',
  )
}

function sizesOf({ firewall, routing }: RuleSet): Map<number, number> {
  const sizes = new Map<number, number>()
  for (const { id, pattern } of firewall) sizes.set(id, pattern.length)
  for (const { id, match_json } of routing) sizes.set(id, JSON.stringify(match_json).length)
  return sizes
}

/** The new size of the event's rule; undefined if it stays. */
function sizeOf(event: RuleEvent): number | undefined {
  switch (event.type) {
    case 'FirewallRuleCreated':
      return event.data.content.pattern.length
    case 'FirewallRuleUpdated':
      return event.data.changes.pattern?.length
    case 'RoutingRuleCreated':
      return JSON.stringify(event.data.content.match_json).length
    case 'RoutingRuleUpdated':
      return event.data.changes.match_json && JSON.stringify(event.data.changes.match_json).length
    case 'FirewallRuleDeleted':
    case 'RoutingRuleDeleted':
      return 0
    default:
      return event satisfies never
  }
}

function sum(sizes: ReadonlyMap<number, number>): number {
  let total = 0
  for (const size of sizes.values()) total += size
  return total
}
