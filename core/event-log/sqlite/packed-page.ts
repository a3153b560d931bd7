import type { Position } from '../../contract/event-log.ts'
import { StoredEvent, type StoredParts } from '../stored-event.ts'
import { HASH_BYTES, hashPrefixedLeaf } from '../transparency/merkle-tree.ts'
import type { SqliteDatabase } from './database.ts'
import type { PackedPage } from './worker-protocol.ts'

const MAX_PAGE_ROWS = 2000

/** Limits the memory that a page takes when events are large. */
const MAX_PAGE_BYTES = 4 * 1024 * 1024

/**
 * A row as text: its position, the sizes of data and metadata in bytes, and the leaf of the event with the
 * texts that are stored, behind the byte 0 with which it is hashed. SQLite writes a page of such rows in half
 * of the time in which the driver reads their columns.
 */
const PACKED_ROW = `
  position || ',' || octet_length(data) || ',' || octet_length(metadata) || char(0) ||
  '[' || json_quote(stream) || ',' || revision || ',' || json_quote(type) || ',' ||
  data || ',' || metadata || ']'`

/**
 * Reads a page of the events after a position. Further parameters are those of the condition. Every page has
 * bytes of its own, even an empty one: they are moved to the main thread, and Node 22 and later throw an
 * error for bytes that have been moved before.
 */
export type ReadPackedPage = (after: Position, parameters: readonly string[]) => PackedPage

/** Prepares to read pages of the rows that meet an SQL condition. */
export function prepareLogRead(
  database: SqliteDatabase,
  condition: string,
  hashesLeaves: boolean,
): ReadPackedPage {
  // A subquery with a limit is read row by row, in its order.
  const rows = `(SELECT * FROM events ${condition} ORDER BY position LIMIT ?)`
  const measure = database
    .prepare<(number | string)[], [count: number, bytes: number | null, last: Position | null]>(
      `SELECT count(*), sum(octet_length(data) + octet_length(metadata)), max(position) FROM ${rows}`,
    )
    .raw()
  const pack = database
    .prepare<(number | string)[], Buffer>(`SELECT CAST(group_concat(${PACKED_ROW}, '') AS BLOB) FROM ${rows}`)
    .pluck()

  return (after, parameters) => {
    for (let limit = MAX_PAGE_ROWS; ; limit = Math.floor(limit / 2)) {
      const [count, bytes, last] = measure.get(after, ...parameters, limit) ?? [0, 0, null]
      if (count === 0 || last === null) return { events: new Uint8Array(), last: after, more: false }
      if (Number(bytes) > MAX_PAGE_BYTES && limit > 1) continue
      // Of the rows that were measured, even if more were written since.
      const events = pack.get(after, ...parameters, count) ?? new Uint8Array()
      const page = { events, last, more: count === limit }
      return hashesLeaves ? { ...page, leafHashes: hashLeaves(events, count) } : page
    }
  }
}

/** Returns the hashes of the leaves, one after the other. */
function hashLeaves(events: Uint8Array, count: number): Uint8Array {
  const hashes = new Uint8Array(count * HASH_BYTES)
  const bytes = toBuffer(events)
  let index = 0
  for (const { leaf, end } of readParts(bytes)) {
    hashes.set(hashPrefixedLeaf(bytes.subarray(leaf - 1, end + 1)), index * HASH_BYTES)
    index += 1
  }
  return hashes
}

/** Yields the events of a page. They keep its bytes in memory until they are collected. */
export function* unpackEvents({ events, leafHashes }: PackedPage): Generator<StoredEvent> {
  const bytes = toBuffer(events)
  const hashes = leafHashes && toBuffer(leafHashes)
  let index = 0
  for (const parts of readParts(bytes)) {
    const hash = hashes?.subarray(index * HASH_BYTES, (index + 1) * HASH_BYTES)
    yield new StoredEvent(bytes, parts, hash)
    index += 1
  }
}

function toBuffer({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength)
}

const [ZERO, NINE, MINUS, QUOTE, BACKSLASH] = [...'09-"\\'].map((text) => text.charCodeAt(0)) as [
  number,
  number,
  number,
  number,
  number,
]

/** Reads the rows that `PACKED_ROW` has written. */
function* readParts(bytes: Buffer): Generator<StoredParts> {
  let offset = 0

  /** Reads an integer and skips the character behind it. Only that of a changed row is below 0. */
  function readInteger(): number {
    const sign = bytes[offset] === MINUS ? -1 : 1
    if (sign < 0) offset += 1
    let value = 0
    for (;;) {
      const byte = bytes[offset++] ?? 0
      if (byte < ZERO || byte > NINE) return sign * value
      value = value * 10 + byte - ZERO
    }
  }
  /** Reads a text in quotes and skips the character behind it. */
  function readText(): string {
    const start = offset
    let hasEscapes = false
    for (offset += 1; bytes[offset] !== QUOTE; offset++) {
      if (bytes[offset] !== BACKSLASH) continue
      hasEscapes = true
      offset += 1
    }
    offset += 2
    if (hasEscapes) return JSON.parse(bytes.toString('utf8', start, offset - 1))
    return bytes.toString('utf8', start + 1, offset - 2)
  }

  while (offset < bytes.length) {
    const position = readInteger()
    const dataBytes = readInteger()
    const metadataBytes = readInteger()
    const leaf = offset
    offset += 1
    const stream = readText()
    const revision = readInteger()
    const type = readText()
    const data = offset
    const metadata = data + dataBytes + 1
    const end = metadata + metadataBytes
    offset = end + 1
    yield { position, revision, stream, type, leaf, data, metadata, end }
  }
}
