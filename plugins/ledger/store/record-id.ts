import { decodeBase62, timeOfRequestId } from '../../../core/util/ids.ts'

/** The time of the id 0: begin of 2020. Ids stay below 2^53, and so exact in JavaScript, until 2089. */
export const LEDGER_EPOCH_MS = Date.UTC(2020, 0, 1)

/** Ids of one millisecond. */
const IDS_PER_MS = 4096

/**
 * Returns the primary key of a request: the millisecond of its arrival, and a number from the random part of
 * its id. Rows are in the order of time and are found by the request's id, without an index for either. Two
 * requests of a millisecond may have the same key; the writer moves one of them. Undefined for a text that is
 * not a request id. See docs/decisions/ledger.md, "The primary key is the time of the request".
 */
export function toRecordId(requestId: string): number | undefined {
  const time = timeOfRequestId(requestId)
  if (time === undefined) return undefined
  return firstIdAt(time) + decodeBase62(requestId.slice(-2))
}

/** Records are hardly ever moved further: six requests of a millisecond would need the same key. */
const MOVES = 4

/** Returns the keys that the record of a request may have, after at most `MOVES` moves. */
export function possibleRecordIds(requestId: string): readonly number[] {
  let id = toRecordId(requestId)
  if (id === undefined) return []
  const ids = [id]
  for (let move = 0; move < MOVES; move++) {
    id = nextRecordId(id)
    ids.push(id)
  }
  return ids
}

/** Returns the lowest id of requests that arrived at or after a Unix time in milliseconds. */
export function firstIdAt(ms: number): number {
  return Math.max(0, Math.ceil(ms) - LEDGER_EPOCH_MS) * IDS_PER_MS
}

export function timeOfRecordId(id: number): number {
  return Math.floor(id / IDS_PER_MS) + LEDGER_EPOCH_MS
}

/** Ids of requests; `below` is not part of the range. */
export interface IdRange {
  readonly from: number
  readonly below: number
}

/** Ids of one slot, which is 10 seconds long. */
export const IDS_PER_SLOT = 10_000 * IDS_PER_MS

/** Returns the number of the slot of time that a request arrived in. */
export function slotOf(id: number): number {
  return Math.floor(id / IDS_PER_SLOT)
}

/** Returns the next id of the same millisecond. */
export function nextRecordId(id: number): number {
  const first = id - (id % IDS_PER_MS)
  return first + ((id + 1 - first) % IDS_PER_MS)
}

export const HOUR_MS = 3_600_000
export const HOURS_PER_DAY = 24
export const DAY_MS = HOURS_PER_DAY * HOUR_MS

/** Sums of scores are kept in millionths. */
export const SCORE_UNITS = 1_000_000
