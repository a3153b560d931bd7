import type { RuleEvent } from '../core/events/rules.ts'
import { type Book, type Entry, emptyBook, evolveBook, readBook, writeBook } from './rule-book.ts'

/** An event, as much of it as a book needs. */
interface Note {
  readonly event: RuleEvent
  readonly record: Entry
}

/** Notes an event for later. */
export function writeNote(event: RuleEvent, { revision, position, metadata: { time } }: Entry): string {
  const note: Note = { event, record: { revision, position, metadata: { time } } }
  return JSON.stringify(note)
}

/** The book that notes lead to. The first may be a whole book, as it stands in a snapshot. */
export function foldNotes(notes: readonly string[]): Book {
  const [first, ...rest] = notes
  if (first === undefined || !isBook(first)) return fold(emptyBook(), notes)
  return fold(readBook(first), rest)
}

/** The same book as a line of JSON. */
export function writeFolded(userId: number, notes: readonly string[]): string {
  const [first] = notes
  if (first !== undefined && isBook(first) && notes.length === 1) return first
  return writeBook(userId, foldNotes(notes))
}

function fold(book: Book, notes: readonly string[]): Book {
  for (const text of notes) {
    const { event, record }: Note = JSON.parse(text)
    evolveBook(book, event, record)
  }
  return book
}

/** A book is an array and a note an object. */
function isBook(text: string): boolean {
  return text.startsWith('[')
}
