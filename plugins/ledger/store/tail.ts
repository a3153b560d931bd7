import type { StoredRecord } from './queries.ts'
import type { RecordBatch } from './record-batch.ts'
import { toRecordId } from './record-id.ts'

/** Records that were written since the last call, for whoever watches. */
export interface LedgerTail {
  readonly records: readonly StoredRecord[]
  /** What the next call begins after. */
  readonly next: number
  /** Records that were written in between and are not kept any more. */
  readonly dropped: number
}

const MAX_KEPT = 2000

/** Records are kept for this time after a call. Without watchers, none are. */
const WATCH_MS = 15_000

/** Keeps the records that were written last, in the order in which they were, while somebody watches. */
export class TailBuffer {
  #records: StoredRecord[] = []
  /** Number of the newest record; all are numbered, whether they are kept or not. */
  #last = 0
  #watchedUntil = 0

  add(batch: RecordBatch, now: number): void {
    this.#last += batch.count
    if (now > this.#watchedUntil) {
      this.#records = []
      return
    }
    for (const { prompt: _, features: __, promptChecksum: ___, ...record } of batch.records())
      this.#records.push({ ...record, id: toRecordId(record.requestId) ?? 0, feedback: [] })
    if (this.#records.length > MAX_KEPT) this.#records = this.#records.slice(-MAX_KEPT)
  }

  /** Returns the records after a number; undefined begins to watch. */
  read(after: number | undefined, now: number): LedgerTail {
    this.#watchedUntil = now + WATCH_MS
    const missed = after === undefined ? 0 : Math.max(0, this.#last - after)
    const records = missed === 0 ? [] : this.#records.slice(-missed)
    return { records, next: this.#last, dropped: missed - records.length }
  }
}
