import { GatewayError, type Position } from '../../core/contract/index.ts'
import { createBoundedCache } from '../../core/util/bounded-cache.ts'
import { createBackgroundYield } from '../../core/util/cooperative-yield.ts'
import { compareToAsOf } from './audit-entries.ts'
import type { LogEntry, LogFilter } from './log-endpoint.ts'
import type { LogReader } from './read-log.ts'
import { TurnQueue } from './turn-queue.ts'

/** Searches that read the log at the same time, and those that wait for their turn. */
const MAX_RUNNING = 2
const MAX_WAITING = 8

/** Finds entries of the audit trail, newest first. */
export class LogSearch {
  readonly #reader: LogReader
  readonly #queue = new TurnQueue(MAX_RUNNING, MAX_WAITING)

  constructor(reader: LogReader) {
    this.#reader = reader
  }

  /**
   * Returns at most `count` entries before a position. A filter may have to read the whole log, so only a few
   * searches run at a time: throws 429 if too many wait. Rejects if the signal aborts.
   */
  find(filter: LogFilter, below: number, count: number, signal: AbortSignal): Promise<readonly LogEntry[]> {
    const search = () => findEntries(this.#reader, filter, below, count, signal)
    if (!filter.isSelective) return search()
    return this.#queue.run(search, signal) ?? Promise.reject(createBusyError())
  }
}

async function findEntries(
  reader: LogReader,
  { user, since, until, terms, matches }: LogFilter,
  below: number,
  count: number,
  signal: AbortSignal,
): Promise<readonly LogEntry[]> {
  const found: LogEntry[] = []
  const slice = createBackgroundYield()
  const start = until?.type === 'position' ? Math.min(below, until.position + 1) : below
  for await (const part of reader.backwards(start, user, terms)) {
    signal.throwIfAborted()
    for (const entry of part) {
      if (slice.isDue()) await slice.yieldNow()
      if (matches(entry)) found.push(entry)
      if (found.length === count) return found
    }
    const oldest = part.at(-1)?.record
    // Times in the log never decrease by more than the clocks of its nodes differ.
    if (since?.type === 'position' && oldest && compareToAsOf(oldest, since) < 0) break
  }
  return found
}

function createBusyError(): GatewayError {
  const message =
    'Too many searches of the audit trail are waiting. Try again later, or narrow the search by user, ' +
    'since or until.'
  return new GatewayError('audit_busy', message, { retryAfter: 2 })
}

/** Words of 32 bits of a part's filter: with 4000 terms, 3 of 100 parts are read in vain. */
const WORDS = 1024

const HASHES = 3

/** Parts of a thousand events: 10,000 filters take 40 MB, and cover ten million events. */
const MAX_PARTS = 10_000

/** Ids that filters of the audit trail name, by the field of an event's data. */
const ID_TERMS = [
  ['user', 'userId'],
  ['group', 'groupId'],
  ['policy', 'policyId'],
  ['rule', 'ruleId'],
] as const

type TermName = 'actor' | 'kind' | (typeof ID_TERMS)[number][0]

/** A condition that the index knows, such as `rule:12`. */
export type IndexTerm = `${TermName}:${string}`

/** The terms of the filters that are given. */
export function toIndexTerms(query: Readonly<Partial<Record<TermName, unknown>>>): readonly IndexTerm[] {
  const names: readonly TermName[] = ['actor', 'kind', ...ID_TERMS.map(([name]) => name)]
  return names.flatMap((name) => (query[name] === undefined ? [] : [`${name}:${query[name]}` as const]))
}

/**
 * Remembers what occurs in the parts of the log that were read, as Bloom filters, so that a search for a rare
 * actor or object skips the other parts from the second time on. A part is named by the position where it
 * ends, and never changes.
 */
export class PartIndex {
  readonly #filters = createBoundedCache<Position, Uint32Array>(MAX_PARTS)

  has(end: Position): boolean {
    return this.#filters.has(end)
  }

  /** `entries` are all entries of the part. */
  add(end: Position, entries: readonly LogEntry[]): void {
    const filter = new Uint32Array(WORDS)
    for (const { record, kind } of entries) {
      mark(filter, `actor:${record.metadata.actor.id}`)
      mark(filter, `kind:${kind}`)
      for (const [name, field] of ID_TERMS) {
        const id = record.data[field]
        if (id !== undefined) mark(filter, `${name}:${id}`)
      }
    }
    this.#filters.set(end, filter)
  }

  /** False if no entry of the part has all of the terms. */
  mayContain(end: Position, terms: readonly IndexTerm[]): boolean {
    const filter = this.#filters.get(end)
    return filter === undefined || terms.every((term) => isMarked(filter, term))
  }
}

function mark(filter: Uint32Array, term: string): void {
  for (const bit of bitsOf(term)) filter[bit >>> 5] = (filter[bit >>> 5] ?? 0) | (1 << (bit & 31))
}

function isMarked(filter: Uint32Array, term: string): boolean {
  return bitsOf(term).every((bit) => ((filter[bit >>> 5] ?? 0) & (1 << (bit & 31))) !== 0)
}

/** FNV-1a, and further hashes by double hashing. */
function bitsOf(term: string): readonly number[] {
  let hash = 0x811c9dc5
  for (let n = 0; n < term.length; n++) hash = Math.imul(hash ^ term.charCodeAt(n), 0x01000193)
  const step = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d) | 1
  return Array.from({ length: HASHES }, (_, n) => ((hash + n * step) >>> 0) % (WORDS * 32))
}
