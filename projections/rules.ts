import type { RuleSet } from '../core/contract/index.ts'
import { isRuleEvent } from '../core/events/codec.ts'
import type { SavedProjection } from './projection.ts'
import { arrange, type Book, copyBook, emptyBook, evolveBook, readOwner, writeBook } from './rule-book.ts'
import { foldNotes, writeFolded, writeNote } from './rule-notes.ts'
import { type Place, Shelf } from './shelf.ts'

export type RuleKindName = 'routing' | 'firewall'

/** Every user's rules, in memory. */
export interface Rules extends SavedProjection {
  /** The user's rules now, in evaluation order. The same object until the user's next rule event, once there was one. */
  of(userId: number): RuleSet
  /** Revision of the user's rule stream; -1 before the first rule. */
  revision(userId: number): number
}

/** A user's book, or the notes on the shelf from which it is made when somebody asks for it. */
type Page = Book | Place

/** A user to whom more happens than this has a book, asked for or not. To fold so many takes a few milliseconds. */
const MOST_NOTES = 1000

/**
 * Most users are not asked for between one start and the next, or not on this node. Until a user is, the events are noted and
 * not folded: that takes less time and much less memory.
 */
export function createRules(): Rules {
  const pages = new Map<number, Page>()
  const shelf = new Shelf()
  /** Books that no save is reading, so that they may be changed in place. */
  let own = new Set<Book>()

  function open(userId: number): Book | undefined {
    const page = pages.get(userId)
    if (typeof page !== 'number') return page
    const book = foldNotes(shelf.read(page))
    pages.set(userId, book)
    own.add(book)
    return book
  }

  function openToChange(userId: number): Book {
    const book = open(userId) ?? emptyBook()
    if (own.has(book)) return book
    const copy = copyBook(book)
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
      const mayNote = page === undefined || (typeof page === 'number' && shelf.count(page) < MOST_NOTES)
      if (mayNote) pages.set(userId, shelf.add(writeNote(event, record), page))
      else evolveBook(openToChange(userId), event, record)
    },
    of(userId) {
      const book = open(userId)
      if (book === undefined) return emptyRuleSet(userId)
      book.set ??= arrange(userId, book)
      return book.set
    },
    revision: (userId) => open(userId)?.revision ?? -1,
    save() {
      own = new Set()
      return writePages(new Map(pages), shelf)
    },
    load(lines) {
      for (const line of lines) pages.set(readOwner(line), shelf.add(line))
    },
  }
}

/** A set without rules, for a user who has none or may not use them. */
export function emptyRuleSet(userId: number): RuleSet {
  return { userId, position: 0, routing: [], firewall: [] }
}

function* writePages(pages: ReadonlyMap<number, Page>, shelf: Shelf): Generator<string> {
  for (const [userId, page] of pages) {
    if (typeof page !== 'number') yield writeBook(userId, page)
    else yield writeFolded(userId, shelf.read(page))
  }
}
