import type { EventMetadata, FirewallRule, Position, RoutingRule, RuleSet } from '../core/contract/index.ts'
import type { RestoreFields, RuleEvent } from '../core/events/domain-events.ts'

/** What a book takes from a record besides the event. */
export interface EventEntry {
  readonly revision: number
  readonly position: Position
  readonly metadata: Pick<EventMetadata, 'time'>
}

/** One user's rules, as the events have left them. */
export interface UserRules {
  revision: number
  position: number
  readonly routing: Map<number, RoutingRule>
  readonly firewall: Map<number, FirewallRule>
  /** The sorted set, made on the first look-up after a change. */
  sorted: RuleSet | undefined
}

export function emptyUserRules(): UserRules {
  return { revision: -1, position: 0, routing: new Map(), firewall: new Map(), sorted: undefined }
}

/** A book that can be changed while the other is kept as it is. */
export function copyUserRules(book: UserRules): UserRules {
  return { ...book, routing: new Map(book.routing), firewall: new Map(book.firewall) }
}

/** Changes the book as the event says. */
export function evolveUserRules(book: UserRules, event: RuleEvent, record: EventEntry): void {
  book.revision = record.revision
  book.position = record.position
  book.sorted = undefined
  switch (event.type) {
    case 'RoutingRuleCreated':
      create(book.routing, event.data, record)
      break
    case 'RoutingRuleUpdated':
      update(book.routing, event.data, record)
      break
    case 'RoutingRuleDeleted':
      book.routing.delete(event.data.ruleId)
      break
    case 'FirewallRuleCreated':
      create(book.firewall, event.data, record)
      break
    case 'FirewallRuleUpdated':
      update(book.firewall, event.data, record)
      break
    case 'FirewallRuleDeleted':
      book.firewall.delete(event.data.ruleId)
      break
    default:
      event satisfies never
  }
}

/** The rules in evaluation order: priority descending, then id ascending (docs/api.md, "Evaluation order"). */
export function toRuleSet(userId: number, book: UserRules): RuleSet {
  return { userId, position: book.position, routing: inOrder(book.routing), firewall: inOrder(book.firewall) }
}

function inOrder<Rule extends RoutingRule | FirewallRule>(rules: Map<number, Rule>): readonly Rule[] {
  return [...rules.values()].sort((a, b) => b.priority - a.priority || a.id - b.id)
}

/** The book as a line of JSON that begins with the user's id. */
export function serializeUserRules(
  userId: number,
  { revision, position, routing, firewall }: UserRules,
): string {
  return JSON.stringify([userId, revision, position, [...routing.values()], [...firewall.values()]])
}

/** What `writeBook` wrote. */
export function parseUserRules(line: string): UserRules {
  const [, revision, position, routing, firewall]: SavedBook = JSON.parse(line)
  return { revision, position, routing: byId(routing), firewall: byId(firewall), sorted: undefined }
}

/** The id that a line of `writeBook` begins with, without reading the rest. */
export function parseUserId(line: Buffer): number {
  let userId = 0
  for (let at = 1; line[at] !== COMMA; at++) userId = userId * 10 + Number(line[at]) - ZERO
  return userId
}

type SavedBook = [
  userId: number,
  revision: number,
  position: number,
  routing: RoutingRule[],
  firewall: FirewallRule[],
]

const COMMA = 44
const ZERO = 48

function byId<Rule extends RoutingRule | FirewallRule>(rules: readonly Rule[]): Map<number, Rule> {
  return new Map(rules.map((rule) => [rule.id, rule]))
}

type Content<Rule> = Omit<Rule, 'id' | 'user_id' | 'created_at' | 'updated_at' | 'revision'>

function create<Rule extends RoutingRule | FirewallRule>(
  rules: Map<number, Rule>,
  created: { userId: number; ruleId: number; content: Content<Rule> } & RestoreFields,
  record: EventEntry,
): void {
  const { time } = record.metadata
  const { userId, ruleId, content, createdAt = time, revision = 1 } = created
  // With the content last, V8 makes the rule six times as fast as with the content first.
  const rule = { id: ruleId, user_id: userId, created_at: createdAt, updated_at: time, revision, ...content }
  // The cast is safe: content and server fields together are the whole rule, which TypeScript cannot see through Omit.
  rules.set(ruleId, rule as unknown as Rule)
}

function update<Rule extends RoutingRule | FirewallRule>(
  rules: Map<number, Rule>,
  updated: { ruleId: number; changes: Partial<Content<Rule>> },
  record: EventEntry,
): void {
  const rule = rules.get(updated.ruleId)
  if (rule === undefined) return
  const updated_at = record.metadata.time
  rules.set(updated.ruleId, { ...rule, ...updated.changes, updated_at, revision: rule.revision + 1 })
}
