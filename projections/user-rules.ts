import type { FirewallRule, Position, RoutingRule, RuleSet } from '../core/contract/index.ts'
import { evolveUserRules, type RuleEvent, type UserRules } from './events/rules.ts'

export function emptyUserRules(): UserRules {
  return { revision: -1, position: 0, routing: new Map(), firewall: new Map(), sorted: undefined }
}

/** Returns a copy that can be modified independently. */
export function copyUserRules(rules: UserRules): UserRules {
  return { ...rules, routing: new Map(rules.routing), firewall: new Map(rules.firewall) }
}

/** Returns rules that can be modified, without the revision of their stream. */
export function toUserRules({ position, routing, firewall }: RuleSet): UserRules {
  return { ...emptyUserRules(), position, routing: byId(routing), firewall: byId(firewall) }
}

/** Returns the rules after events that were appended together. */
export function applyRuleEvents(
  ruleSet: RuleSet,
  events: readonly RuleEvent[],
  { revision, position, time }: { revision: number; position: Position; time: string },
): RuleSet {
  const { position: _position, routing: _routing, firewall: _firewall, ...owner } = ruleSet
  const rules = toUserRules(ruleSet)
  for (const event of events) evolveUserRules(rules, event, { revision, position, metadata: { time } })
  return { ...toRuleSet(owner.ownerId, rules), ...owner }
}

/**
 * Sorts the rules in evaluation order: priority descending, then id ascending (docs/api.md, "Evaluation
 * order").
 */
export function toRuleSet(ownerId: number, { position, routing, firewall }: UserRules): RuleSet {
  return { ownerId, position, routing: sortRules(routing), firewall: sortRules(firewall) }
}

function sortRules<Rule extends RoutingRule | FirewallRule>(rules: Map<number, Rule>): readonly Rule[] {
  return [...rules.values()].sort((a, b) => b.priority - a.priority || a.id - b.id)
}

/** Serializes the rules as a line of JSON that starts with the user's id. */
export function serializeUserRules(
  userId: number,
  { revision, position, routing, firewall }: UserRules,
): string {
  return JSON.stringify([userId, revision, position, [...routing.values()], [...firewall.values()]])
}

/** Parses a line of `serializeUserRules`. */
export function parseUserRules(line: string): UserRules {
  const [, revision, position, routing, firewall]: SerializedUserRules = JSON.parse(line)
  return { revision, position, routing: byId(routing), firewall: byId(firewall), sorted: undefined }
}

/** Reads the user's id from a line of `serializeUserRules` without parsing the rest. */
export function parseUserId(line: Buffer): number {
  let userId = 0
  for (let index = 1; line[index] !== COMMA; index++) userId = userId * 10 + Number(line[index]) - ZERO
  return userId
}

type SerializedUserRules = [
  userId: number,
  revision: number,
  position: number,
  routing: RoutingRule[],
  firewall: FirewallRule[],
]

const COMMA = ','.charCodeAt(0)
const ZERO = '0'.charCodeAt(0)

function byId<Rule extends RoutingRule | FirewallRule>(rules: readonly Rule[]): Map<number, Rule> {
  return new Map(rules.map((rule) => [rule.id, rule]))
}
