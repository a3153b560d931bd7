import { GatewayError, type JsonObject, type RuleSet } from '../../core/contract/index.ts'
import type { RuleEvent } from '../../core/events/domain-events.ts'

/**
 * Characters of all patterns of a user or a policy: those of firewall rules, and the conditions of routing
 * rules as JSON. They are compiled together.
 */
const MAX_PATTERN_CHARACTERS = 500_000

/** Characters of all actions of routing rules, as JSON: a request may get the warnings of all of them. */
const MAX_ACTION_CHARACTERS = 1_000_000

/**
 * Throws 400 if the events would take the patterns or the actions of an owner beyond the limit, or further
 * beyond it.
 */
export function checkPatternSize(rules: RuleSet, events: readonly RuleEvent[]): void {
  checkSize('patterns', MAX_PATTERN_CHARACTERS, sizesOf(rules), events, sizeOf)
  const actionSizes = new Map(rules.routing.map(({ id, action_json }) => [id, lengthOf(action_json)]))
  checkSize('actions', MAX_ACTION_CHARACTERS, actionSizes, events, actionSizeOf)
}

/** `sizes`: those of the rules before the events, which it changes. */
function checkSize(
  what: string,
  limit: number,
  sizes: Map<number, number>,
  events: readonly RuleEvent[],
  sizeAfter: (event: RuleEvent) => number | undefined,
): void {
  const before = sum(sizes)
  for (const event of events) {
    const size = sizeAfter(event)
    if (size !== undefined) sizes.set(event.data.ruleId, size)
  }
  const after = sum(sizes)
  if (after <= limit || after <= before) return
  const message =
    `The ${what} of all rules together would have ${after} characters; ${limit} are allowed. ` +
    'Shorten or delete some.'
  throw new GatewayError('invalid_rule', message)
}

function sizesOf({ firewall, routing }: RuleSet): Map<number, number> {
  const sizes = new Map<number, number>()
  for (const { id, pattern } of firewall) sizes.set(id, pattern.length)
  for (const { id, match_json } of routing) sizes.set(id, lengthOf(match_json))
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
      return lengthOf(event.data.content.match_json)
    case 'RoutingRuleUpdated':
      return event.data.changes.match_json && lengthOf(event.data.changes.match_json)
    case 'FirewallRuleDeleted':
    case 'RoutingRuleDeleted':
      return 0
    default:
      return event satisfies never
  }
}

/** The new size of the actions of the event's rule; undefined if it stays. */
function actionSizeOf(event: RuleEvent): number | undefined {
  if (event.type === 'RoutingRuleCreated') return lengthOf(event.data.content.action_json)
  if (event.type === 'RoutingRuleDeleted') return 0
  if (event.type !== 'RoutingRuleUpdated') return undefined
  return event.data.changes.action_json && lengthOf(event.data.changes.action_json)
}

function lengthOf(json: JsonObject): number {
  return JSON.stringify(json).length
}

function sum(sizes: ReadonlyMap<number, number>): number {
  let total = 0
  for (const size of sizes.values()) total += size
  return total
}
