import type { RuleSet } from '../core/contract/index.ts'
import { isRuleEvent } from '../core/events/codec.ts'
import type { RuleEvent } from '../core/events/domain-events.ts'
import { type ArenaOffset, ByteArena } from './byte-arena.ts'
import type { SavedProjection } from './projection.ts'
import {
  copyUserRules,
  type EventEntry,
  emptyUserRules,
  evolveUserRules,
  parseUserId,
  parseUserRules,
  serializeUserRules,
  toRuleSet,
  type UserRules,
} from './user-rules.ts'

export type RuleKindName = 'routing' | 'firewall'

/** Every user's rules, in memory. */
export interface Rules extends SavedProjection {
  /** The user's rules now, in evaluation order. The same object until the user's next rule event, once there was one. */
  of(userId: number): RuleSet
  /** Revision of the user's rule stream; -1 before the first rule. */
  revision(userId: number): number
}

/** A user's book, or the notes on the shelf from which it is made when somebody asks for it. */
type RulesEntry = UserRules | ArenaOffset

/** A user to whom more happens than this has a book, asked for or not. To fold so many takes a few milliseconds. */
const MAX_PENDING_EVENTS = 1000

/**
 * Most users are not asked for between one start and the next, or not on this node. Until a user is, the events are noted and
 * not folded: that takes less time and much less memory.
 */
export function createRules(): Rules {
  const pages = new Map<number, RulesEntry>()
  const shelf = new ByteArena()
  /** Books that no save is reading, so that they may be changed in place. */
  let own = new Set<UserRules>()

  function open(userId: number): UserRules | undefined {
    const page = pages.get(userId)
    if (typeof page !== 'number') return page
    const book = foldPendingEvents(shelf.read(page))
    pages.set(userId, book)
    own.add(book)
    return book
  }

  function openToChange(userId: number): UserRules {
    const book = open(userId) ?? emptyUserRules()
    if (own.has(book)) return book
    const copy = copyUserRules(book)
    own.add(copy)
    pages.set(userId, copy)
    return copy
  }

  return {
    name: 'rules',
    apply(event, record) {
      if (!isRuleEvent(event)) return
      const { userId } = event.data
      const page = pages.get(userId)
      const mayNote =
        page === undefined || (typeof page === 'number' && shelf.count(page) < MAX_PENDING_EVENTS)
      if (mayNote) pages.set(userId, shelf.add(serializeEvent(event, record), page))
      else evolveUserRules(openToChange(userId), event, record)
    },
    of(userId) {
      const book = open(userId)
      if (book === undefined) return emptyRuleSet(userId)
      book.sorted ??= toRuleSet(userId, book)
      return book.sorted
    },
    revision: (userId) => open(userId)?.revision ?? -1,
    save() {
      own = new Set()
      return writePages(new Map(pages), shelf)
    },
    load(lines) {
      for (const line of lines) pages.set(parseUserId(line), shelf.add(line))
    },
  }
}

/** A set without rules, for a user who has none or may not use them. */
export function emptyRuleSet(userId: number): RuleSet {
  return { userId, position: 0, routing: [], firewall: [] }
}

function* writePages(pages: ReadonlyMap<number, RulesEntry>, shelf: ByteArena): Generator<string> {
  for (const [userId, page] of pages) {
    if (typeof page !== 'number') yield serializeUserRules(userId, page)
    else yield serializePendingEvents(userId, shelf.read(page))
  }
}

/** An event, as much of it as a book needs. */
interface Note {
  readonly event: RuleEvent
  readonly record: EventEntry
}

/** Notes an event for later. */
function serializeEvent(event: RuleEvent, { revision, position, metadata: { time } }: EventEntry): string {
  const note: Note = { event, record: { revision, position, metadata: { time } } }
  return JSON.stringify(note)
}

/** The book that notes lead to. The first may be a whole book, as it stands in a snapshot. */
function foldPendingEvents(notes: readonly string[]): UserRules {
  const [first, ...rest] = notes
  if (first === undefined || !isBook(first)) return fold(emptyUserRules(), notes)
  return fold(parseUserRules(first), rest)
}

/** The same book as a line of JSON. */
function serializePendingEvents(userId: number, notes: readonly string[]): string {
  const [first] = notes
  if (first !== undefined && isBook(first) && notes.length === 1) return first
  return serializeUserRules(userId, foldPendingEvents(notes))
}

function fold(book: UserRules, notes: readonly string[]): UserRules {
  for (const text of notes) {
    const { event, record }: Note = JSON.parse(text)
    evolveUserRules(book, event, record)
  }
  return book
}

/** A book is an array and a note an object. */
function isBook(text: string): boolean {
  return text.startsWith('[')
}
