import type { Position } from '../../core/contract/index.ts'
import { createBoundedCache } from '../../core/util/bounded-cache.ts'
import type { LogEntry } from './audit-entries.ts'

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
