import type { RuleEvent } from '../core/events/rules.ts'
import {
  type EventEntry,
  emptyUserRules,
  evolveUserRules,
  parseUserRules,
  serializeUserRules,
  type UserRules,
} from './rule-book.ts'

/** An event, as much of it as a book needs. */
interface Note {
  readonly event: RuleEvent
  readonly record: EventEntry
}

/** Notes an event for later. */
export function serializeEvent(
  event: RuleEvent,
  { revision, position, metadata: { time } }: EventEntry,
): string {
  const note: Note = { event, record: { revision, position, metadata: { time } } }
  return JSON.stringify(note)
}

/** The book that notes lead to. The first may be a whole book, as it stands in a snapshot. */
export function foldPendingEvents(notes: readonly string[]): UserRules {
  const [first, ...rest] = notes
  if (first === undefined || !isBook(first)) return fold(emptyUserRules(), notes)
  return fold(parseUserRules(first), rest)
}

/** The same book as a line of JSON. */
export function serializePendingEvents(userId: number, notes: readonly string[]): string {
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
