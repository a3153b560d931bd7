import type {
  FirewallRule,
  Position,
  RoutingRule,
  Rule,
  RuleSet,
  RulesByKind,
  ToolRule,
} from '../core/contract/index.ts'
import type { EventEntry } from '../core/events/define-event.ts'
import { type ArenaOffset, ByteArena } from './byte-arena.ts'
import type { DomainEvent } from './events/registry.ts'
import { evolveUserRules, isRuleEvent, type RuleEvent, type UserRules } from './events/rules.ts'
import type { SavedProjection } from './runtime/projection.ts'

export function emptyUserRules(): UserRules {
  const none = { routing: new Map(), firewall: new Map(), tool: new Map() }
  return { revision: -1, position: 0, ...none, sorted: undefined }
}

/** Returns a copy that can be modified independently. */
export function copyUserRules(rules: UserRules): UserRules {
  const { routing, firewall, tool } = rules
  return { ...rules, routing: new Map(routing), firewall: new Map(firewall), tool: new Map(tool) }
}

/** Returns rules that can be modified, without the revision of their stream. */
export function toUserRules({ position, routing, firewall, tool }: RuleSet): UserRules {
  const rules = { routing: byId(routing), firewall: byId(firewall), tool: byId(tool) }
  return { ...emptyUserRules(), position, ...rules }
}

/** Returns the rules after events that were appended together. */
export function applyRuleEvents(
  ruleSet: RuleSet,
  events: readonly RuleEvent[],
  { revision, position, time }: { revision: number; position: Position; time: string },
): RuleSet {
  const rules = toUserRules(ruleSet)
  for (const event of events) evolveUserRules(rules, event, { revision, position, metadata: { time } })
  const { routing, firewall, tool } = toRuleSet(ruleSet.ownerId, rules)
  return { ...ruleSet, position: rules.position, routing, firewall, tool }
}

/** The priorities of rules and policies are from its negative to it. */
export const MAX_PRIORITY = 1000

interface Ordered {
  readonly priority: number
  readonly id: number
}

/** The evaluation order: priority descending, then id ascending (docs/api.md, "Evaluation order"). */
export function compareOrder(a: Ordered, b: Ordered): number {
  return b.priority - a.priority || a.id - b.id
}

/** The same order as one number, for pages. Ids of drafts are too high for it. */
export function evaluationRank({ priority, id }: Ordered): number {
  return (MAX_PRIORITY - priority) * 1e12 + id
}

/** Sorts the rules in evaluation order. */
export function toRuleSet(ownerId: number, { position, routing, firewall, tool }: UserRules): RuleSet {
  const rules = { routing: sortRules(routing), firewall: sortRules(firewall), tool: sortRules(tool) }
  return { ownerId, position, ...rules }
}

function sortRules<Kind extends Rule>(rules: Map<number, Kind>): readonly Kind[] {
  return [...rules.values()].sort(compareOrder)
}

/**
 * Serializes the rules as a line of JSON that starts with the user's id. Lines of owners without tool rules
 * have no list of them, like those of earlier versions.
 */
export function serializeUserRules(
  userId: number,
  { revision, position, routing, firewall, tool }: UserRules,
): string {
  const lists = [[...routing.values()], [...firewall.values()]]
  const toolRules = tool.size > 0 ? [[...tool.values()]] : []
  return JSON.stringify([userId, revision, position, ...lists, ...toolRules])
}

/** Parses a line of `serializeUserRules`. */
export function parseUserRules(line: string): UserRules {
  const [, revision, position, routing, firewall, tool = []]: SerializedUserRules = JSON.parse(line)
  const rules = { routing: byId(routing), firewall: byId(firewall), tool: byId(tool) }
  return { revision, position, ...rules, sorted: undefined }
}

/** Reads the user's id from a line of `serializeUserRules` without parsing the rest. */
function parseUserId(line: Buffer): number {
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
  tool?: ToolRule[],
]

const COMMA = ','.charCodeAt(0)
const ZERO = '0'.charCodeAt(0)

function byId<Kind extends Rule>(rules: readonly Kind[]): Map<number, Kind> {
  return new Map(rules.map((rule) => [rule.id, rule]))
}

export type RuleKindName = keyof RulesByKind

export const RULE_KINDS = ['routing', 'firewall', 'tool'] as const satisfies readonly RuleKindName[]

export function isRuleKind(kind: string): kind is RuleKindName {
  return (RULE_KINDS as readonly string[]).includes(kind)
}

/** All rules of a set, kind by kind. */
export function allRules(rules: RuleSet): readonly Rule[] {
  return RULE_KINDS.flatMap<Rule>((kind) => rules[kind])
}

/** Every user's rules, in memory. */
export interface Rules extends SavedProjection {
  /**
   * The user's current rules, in evaluation order. Returns the same object until the user's next rule event,
   * except for users without rule events.
   */
  of(userId: number): RuleSet
  /** Revision of the user's rule stream; -1 before the first rule. */
  revision(userId: number): number
}

/**
 * A user's folded rules, or the offset of the pending events from which they are folded at the first look-up.
 */
type RulesEntry = UserRules | ArenaOffset

/** Further events of a user are folded immediately. Folding this many takes a few milliseconds. */
const MAX_PENDING_EVENTS = 1000

/**
 * Folds a user's events at the first look-up. Most users' rules are not needed between two starts, or not on
 * this node, and storing their events unfolded takes less time and much less memory. See
 * docs/decisions/event-log.md, "Rule events are kept as bytes and folded on first use".
 */
export function createRulesProjection(): Rules {
  const entries = new Map<number, RulesEntry>()
  const arena = new ByteArena()
  /** Rules that no `save` is reading and that may therefore be modified in place. */
  let mutableRules = new Set<UserRules>()

  function find(userId: number): UserRules | undefined {
    const entry = entries.get(userId)
    if (typeof entry !== 'number') return entry
    const rules = foldPendingEvents(arena.read(entry))
    entries.set(userId, rules)
    mutableRules.add(rules)
    return rules
  }

  function findMutable(userId: number): UserRules {
    const rules = find(userId) ?? emptyUserRules()
    if (mutableRules.has(rules)) return rules
    const copy = copyUserRules(rules)
    mutableRules.add(copy)
    entries.set(userId, copy)
    return copy
  }

  /** Keeps an event for later if the user's rules are not folded yet. */
  function defer(userId: number, serialize: () => string): boolean {
    const entry = entries.get(userId)
    const isDeferred =
      entry === undefined || (typeof entry === 'number' && arena.count(entry) < MAX_PENDING_EVENTS)
    if (isDeferred) entries.set(userId, arena.add(serialize(), entry))
    return isDeferred
  }

  return {
    name: 'rules',
    apply(event, record) {
      if (!isUserRuleEvent(event)) return
      const { userId } = event.data
      if (!defer(userId, () => serializeEvent(event, record)))
        evolveUserRules(findMutable(userId), event, record)
    },
    of(userId) {
      const rules = find(userId)
      if (rules === undefined) return emptyRuleSet(userId)
      rules.sorted ??= toRuleSet(userId, rules)
      return rules.sorted
    },
    revision: (userId) => find(userId)?.revision ?? -1,
    save() {
      mutableRules = new Set()
      return serializeEntries(new Map(entries), arena)
    },
    load(lines) {
      for (const line of lines) entries.set(parseUserId(line), arena.add(line))
    },
  }
}

/** The rule set of a user who has no rules or may not use them. */
export function emptyRuleSet(userId: number): RuleSet {
  return { ownerId: userId, position: 0, routing: [], firewall: [], tool: [] }
}

function* serializeEntries(entries: ReadonlyMap<number, RulesEntry>, arena: ByteArena): Generator<string> {
  for (const [userId, entry] of entries) {
    if (typeof entry !== 'number') yield serializeUserRules(userId, entry)
    else yield serializePendingEvents(userId, arena.read(entry))
  }
}

function isUserRuleEvent(event: DomainEvent): event is RuleEvent & { data: { readonly userId: number } } {
  return isRuleEvent(event) && 'userId' in event.data
}

/** An event that has not been folded yet. */
type PendingEvent = readonly [
  type: RuleEvent['type'],
  revision: number,
  position: number,
  time: string,
  data: RuleEvent['data'],
]

function serializeEvent({ type, data }: RuleEvent, { revision, position, metadata }: EventEntry): string {
  return JSON.stringify([type, revision, position, metadata.time, data] satisfies PendingEvent)
}

/** Folds a chain of serialized events. The first element may be a user's serialized rules from a snapshot. */
function foldPendingEvents(lines: readonly string[]): UserRules {
  const [first, ...rest] = lines
  if (first === undefined || !isSerializedRules(first)) return foldEvents(emptyUserRules(), lines)
  return foldEvents(parseUserRules(first), rest)
}

/** Serializes the rules that a chain of events folds to. */
function serializePendingEvents(userId: number, lines: readonly string[]): string {
  const [first] = lines
  if (first !== undefined && isSerializedRules(first) && lines.length === 1) return first
  return serializeUserRules(userId, foldPendingEvents(lines))
}

function foldEvents(rules: UserRules, lines: readonly string[]): UserRules {
  for (const line of lines) {
    const [type, revision, position, time, data]: PendingEvent = JSON.parse(line)
    // Safe: an event of the type was serialized.
    const event = { type, data } as RuleEvent
    evolveUserRules(rules, event, { revision, position, metadata: { time } })
  }
  return rules
}

/** Rules are serialized with the id of their user first, events with their type. */
function isSerializedRules(line: string): boolean {
  return !line.startsWith('["')
}
