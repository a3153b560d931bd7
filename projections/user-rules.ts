import type { EventMetadata, FirewallRule, Position, RoutingRule, RuleSet } from '../core/contract/index.ts'
import type { RestoreFields, RuleEvent, RuleOwner } from '../core/events/domain-events.ts'

/** The properties of a recorded event that the rules depend on, besides the domain event. */
export interface EventEntry {
  readonly revision: number
  readonly position: Position
  readonly metadata: Pick<EventMetadata, 'time'>
}

/** The rules of one owner, folded from their events. Mutable. */
export interface UserRules {
  revision: number
  position: number
  readonly routing: Map<number, RoutingRule>
  readonly firewall: Map<number, FirewallRule>
  /** The sorted rule set; undefined until the first look-up after a change. */
  sorted: RuleSet | undefined
}

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

/** Applies an event to the rules in place. */
export function evolveUserRules(rules: UserRules, event: RuleEvent, record: EventEntry): void {
  rules.revision = record.revision
  rules.position = record.position
  rules.sorted = undefined
  switch (event.type) {
    case 'RoutingRuleCreated':
      createRule(rules.routing, event.data, record)
      break
    case 'RoutingRuleUpdated':
      updateRule(rules.routing, event.data, record)
      break
    case 'RoutingRuleDeleted':
      rules.routing.delete(event.data.ruleId)
      break
    case 'FirewallRuleCreated':
      createRule(rules.firewall, event.data, record)
      break
    case 'FirewallRuleUpdated':
      updateRule(rules.firewall, event.data, record)
      break
    case 'FirewallRuleDeleted':
      rules.firewall.delete(event.data.ruleId)
      break
    default:
      event satisfies never
  }
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

type Content<Rule> = Omit<Rule, 'id' | 'user_id' | 'policy_id' | 'created_at' | 'updated_at' | 'revision'>

function createRule<Rule extends RoutingRule | FirewallRule>(
  rules: Map<number, Rule>,
  created: RuleOwner & { ruleId: number; content: Content<Rule> } & RestoreFields,
  record: EventEntry,
): void {
  const { time } = record.metadata
  const { ruleId, content, createdAt = time, revision = 1 } = created
  // `content` comes last because V8 then creates the object six times as fast as with `content` first.
  const rule =
    'policyId' in created
      ? {
          id: ruleId,
          policy_id: created.policyId,
          created_at: createdAt,
          updated_at: time,
          revision,
          ...content,
        }
      : { id: ruleId, user_id: created.userId, created_at: createdAt, updated_at: time, revision, ...content }
  // Safe: content and server fields together are the whole rule, which TypeScript cannot infer through Omit.
  rules.set(ruleId, rule as unknown as Rule)
}

function updateRule<Rule extends RoutingRule | FirewallRule>(
  rules: Map<number, Rule>,
  updated: { ruleId: number; changes: Partial<Content<Rule>> },
  record: EventEntry,
): void {
  const rule = rules.get(updated.ruleId)
  if (rule === undefined) return
  const updated_at = record.metadata.time
  rules.set(updated.ruleId, { ...rule, ...updated.changes, updated_at, revision: rule.revision + 1 })
}
