import type { FirewallRule, RecordedEvent, RoutingRule, RuleSet } from '../core/contract/index.ts'
import type { DomainEvent } from '../core/events/codec.ts'
import type { RuleEvent } from '../core/events/rules.ts'

export type RuleKindName = 'routing' | 'firewall'

/** Every user's rules, in memory. */
export interface Rules {
  /** Applies one event; events that are not about rules are passed over. */
  apply(event: DomainEvent, record: RecordedEvent): void
  /** The user's rules now, in evaluation order. The same object until the user's next rule event. */
  of(userId: number): RuleSet
  /** Revision of the user's rule stream; -1 before the first rule. */
  revision(userId: number): number
}

interface Book {
  revision: number
  position: number
  readonly routing: Map<number, RoutingRule>
  readonly firewall: Map<number, FirewallRule>
  /** The sorted set, made on the first look-up after a change. */
  set: RuleSet | undefined
}

export function createRules(): Rules {
  const books = new Map<number, Book>()
  return {
    apply(event, record) {
      if (!isRuleEvent(event)) return
      const book = books.get(event.data.userId) ?? emptyBook()
      evolveBook(book, event, record)
      books.set(event.data.userId, book)
    },
    of(userId) {
      const book = books.get(userId)
      if (book === undefined) return emptyRuleSet(userId)
      book.set ??= arrange(userId, book)
      return book.set
    },
    revision: (userId) => books.get(userId)?.revision ?? -1,
  }
}

/** A set without rules, for a user who has none or may not use them. */
export function emptyRuleSet(userId: number): RuleSet {
  return { userId, position: 0, routing: [], firewall: [] }
}

function isRuleEvent(event: DomainEvent): event is RuleEvent {
  return 'ruleId' in event.data
}

function emptyBook(): Book {
  return { revision: -1, position: 0, routing: new Map(), firewall: new Map(), set: undefined }
}

function evolveBook(book: Book, event: RuleEvent, record: RecordedEvent): void {
  book.revision = record.revision
  book.position = record.position
  book.set = undefined
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

type Content<Rule> = Omit<Rule, 'id' | 'user_id' | 'created_at' | 'updated_at' | 'revision'>

function create<Rule extends RoutingRule | FirewallRule>(
  rules: Map<number, Rule>,
  created: { userId: number; ruleId: number; content: Content<Rule> },
  record: RecordedEvent,
): void {
  const { time } = record.metadata
  const { userId, ruleId, content } = created
  const rule = { ...content, id: ruleId, user_id: userId, created_at: time, updated_at: time, revision: 1 }
  // The cast is safe: content and server fields together are the whole rule, which TypeScript cannot see through Omit.
  rules.set(ruleId, rule as unknown as Rule)
}

function update<Rule extends RoutingRule | FirewallRule>(
  rules: Map<number, Rule>,
  updated: { ruleId: number; changes: Partial<Content<Rule>> },
  record: RecordedEvent,
): void {
  const rule = rules.get(updated.ruleId)
  if (rule === undefined) return
  const updated_at = record.metadata.time
  rules.set(updated.ruleId, { ...rule, ...updated.changes, updated_at, revision: rule.revision + 1 })
}

/** Evaluation order: priority descending, then id ascending (interface: "Rule evaluation order"). */
function arrange(userId: number, book: Book): RuleSet {
  return { userId, position: book.position, routing: inOrder(book.routing), firewall: inOrder(book.firewall) }
}

function inOrder<Rule extends RoutingRule | FirewallRule>(rules: Map<number, Rule>): readonly Rule[] {
  return [...rules.values()].sort((a, b) => b.priority - a.priority || a.id - b.id)
}
