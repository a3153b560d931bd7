import { randomUUID } from 'node:crypto'
import { EventEmitter } from 'node:events'
import { type Direction, type ProposedEvent, Records, type StoredEvent } from './records.ts'

/** The revision that a writer expects the stream to have. */
export type Expected = number | 'any' | 'no-stream' | 'stream-exists'

export type WriteResult =
  | { readonly type: 'written'; readonly revision: number; readonly position: number }
  | { readonly type: 'wrong-revision'; readonly actual: number }
  | { readonly type: 'deleted' }

/** The revision of a tombstone, and the `$tb` of a deleted stream. A real server uses 2^63 - 1. */
export const MAX_REVISION = Number.MAX_SAFE_INTEGER

/** The settings of a stream, in the newest event of its metadata stream. */
interface StreamMetadata {
  readonly $maxAge?: number
  readonly $maxCount?: number
  readonly $tb?: number
}

/**
 * All streams of a server or cluster, with the rules of EventStoreDB 24.2 for expected revisions, repeated
 * appends, expiry, deletion and scavenging. Emits `written` after each write.
 */
export class Store extends EventEmitter {
  readonly #records: Records
  /** Revisions by stream and event id of appends since the start. */
  #committed = new Map<string, number>()

  constructor(file: string) {
    super()
    this.#records = new Records(file)
    this.setMaxListeners(0)
  }

  append(stream: string, expected: Expected, events: readonly ProposedEvent[]): WriteResult {
    const last = this.#records.lastRevision(stream)
    if (last === MAX_REVISION) return { type: 'deleted' }
    const repeated = this.#findRepeated(stream, expected, last, events)
    if (repeated) return repeated
    if (!this.#accepts(stream, expected, last)) return { type: 'wrong-revision', actual: last }
    const metadata = this.#metadataOf(stream)
    const result = this.#write(stream, last + 1, events)
    // Events after a deletion make the stream visible again, from the first of them on.
    if (metadata.$tb === MAX_REVISION) this.setMetadata(stream, { ...metadata, $tb: last + 1 })
    return result
  }

  /** Hides all events of the stream by its metadata. Its next events continue the revisions. */
  delete(stream: string, expected: Expected): WriteResult {
    const last = this.#records.lastRevision(stream)
    if (last === MAX_REVISION) return { type: 'deleted' }
    const neverExisted = last === -1 && this.#records.lastRevision(metaOf(stream)) === -1
    if (neverExisted || !this.#accepts(stream, expected, last))
      return { type: 'wrong-revision', actual: last }
    return this.setMetadata(stream, { $tb: MAX_REVISION })
  }

  /** Ends the stream with a tombstone. Its name cannot be used again. */
  tombstone(stream: string, expected: Expected): WriteResult {
    const last = this.#records.lastRevision(stream)
    if (last === MAX_REVISION) return { type: 'deleted' }
    if (!this.#accepts(stream, expected, last)) return { type: 'wrong-revision', actual: last }
    return this.#write(stream, MAX_REVISION, [jsonEvent('$streamDeleted')])
  }

  /** Appends JSON as another program would. */
  write(stream: string, type: string, data?: unknown, metadata?: unknown): WriteResult {
    return this.append(stream, 'any', [jsonEvent(type, data, metadata)])
  }

  /** Replaces the stream's metadata, as an operator would. */
  setMetadata(stream: string, metadata: StreamMetadata): WriteResult {
    return this.append(metaOf(stream), 'any', [jsonEvent('$metadata', metadata)])
  }

  /** Reads at most `count` events that the stream's metadata leaves readable, starting with `from`. */
  readStream(stream: string, from: number, direction: Direction, count: number): StoredEvent[] {
    const { first, oldest } = this.#limits(stream)
    const start = direction === 'forwards' ? Math.max(from, first) : from
    const events = this.#records.readStream(stream, start, direction, count, oldest)
    return events.filter(({ revision }) => revision >= first)
  }

  /** Includes events that their streams no longer show until a scavenge removes them. */
  readAll(from: number, direction: Direction, count: number): StoredEvent[] {
    return this.#records.readAll(from, direction, count)
  }

  isReadable(position: number): boolean {
    return this.#records.isReadable(position)
  }

  exists(stream: string): boolean {
    const last = this.#records.lastRevision(stream)
    return last >= 0 && last >= (this.#metadataOf(stream).$tb ?? 0)
  }

  isTombstoned(stream: string): boolean {
    return this.#records.lastRevision(stream) === MAX_REVISION
  }

  /**
   * Removes events that their streams no longer show, but never a stream's last event, which holds the
   * stream's revision. Of a tombstoned stream only the tombstone stays.
   */
  scavenge(): void {
    for (const stream of this.#records.streams()) {
      const original = stream.startsWith(META_PREFIX) ? stream.slice(META_PREFIX.length) : stream
      const { first, oldest } = this.#limits(stream)
      const isDeleted = this.isTombstoned(original)
      const last = isDeleted ? MAX_REVISION : this.#records.lastRevision(stream)
      this.#records.remove(stream, last, isDeleted ? MAX_REVISION : first, oldest)
    }
  }

  /** Copies all records into a new file, as a backup of a server does. */
  copyTo(file: string): void {
    this.#records.copyTo(file)
  }

  /** The content of the chunk files. */
  chunks(): Buffer {
    return this.#records.content()
  }

  /** As on a restart and on a new leader: repeated appends with revision `any` are no longer recognized. */
  forgetCommittedIds(): void {
    this.#committed = new Map()
  }

  close(): void {
    this.#records.close()
  }

  #write(stream: string, first: number, events: readonly ProposedEvent[]): WriteResult {
    const position = this.#records.write(stream, first, events)
    const revision = first + events.length - 1
    events.forEach(({ id }, index) => {
      this.#committed.set(`${stream} ${id}`, first + index)
    })
    this.emit('written')
    return { type: 'written', revision, position }
  }

  #accepts(stream: string, expected: Expected, last: number): boolean {
    const isDeleted = this.#metadataOf(stream).$tb === MAX_REVISION
    if (expected === 'any') return true
    if (expected === 'stream-exists') return last >= 0 && !isDeleted
    if (expected === 'no-stream') return last === -1 || isDeleted
    return expected === last
  }

  /**
   * Finds the result of an append that is repeated. With an expected revision it is recognized by the events
   * that the stream holds there; without one, only by the ids in memory.
   */
  #findRepeated(
    stream: string,
    expected: Expected,
    last: number,
    events: readonly ProposedEvent[],
  ): WriteResult | undefined {
    const first =
      typeof expected === 'number'
        ? expected + 1
        : expected === 'no-stream'
          ? 0
          : this.#committed.get(`${stream} ${events[0]?.id}`)
    if (first === undefined || first > last) return undefined
    const stored = this.#records.readStream(stream, first, 'forwards', events.length)
    if (stored.length === 0 || stored[0]?.id !== events[0]?.id) return undefined
    if (!events.every(({ id }, index) => stored[index]?.id === id))
      return { type: 'wrong-revision', actual: last }
    const { revision, position } = stored.at(-1) ?? { revision: -1, position: 0 }
    return { type: 'written', revision, position }
  }

  #metadataOf(stream: string): StreamMetadata {
    if (stream.startsWith(META_PREFIX)) return { $maxCount: 1 }
    const newest = this.#records.newestOf(metaOf(stream))
    return newest ? JSON.parse(Buffer.from(newest.data).toString()) : {}
  }

  /** The first revision and the oldest creation time that the stream's metadata leaves readable. */
  #limits(stream: string): { first: number; oldest: number } {
    const { $maxAge, $maxCount, $tb = 0 } = this.#metadataOf(stream)
    const counted = $maxCount === undefined ? 0 : this.#records.lastRevision(stream) - $maxCount + 1
    const oldest = $maxAge === undefined ? 0 : Date.now() - $maxAge * 1000
    return { first: Math.max($tb, counted), oldest }
  }
}

const META_PREFIX = '$$'

function metaOf(stream: string): string {
  return META_PREFIX + stream
}

function jsonEvent(type: string, data?: unknown, metadata?: unknown): ProposedEvent {
  const encode = (value: unknown) => Buffer.from(value === undefined ? '' : JSON.stringify(value))
  const contentType = 'application/json'
  return { id: randomUUID(), type, contentType, data: encode(data), metadata: encode(metadata) }
}
