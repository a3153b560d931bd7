/** Identifies an entry in an arena. */
export type ArenaOffset = number

/**
 * Append-only storage for chains of byte strings, outside of the garbage-collected heap. Millions of small,
 * rarely read objects would otherwise be traversed by every garbage collection. Entries are never modified or
 * removed.
 */
export class ByteArena {
  readonly #chunks: Buffer[] = []
  /** Bytes used in the last chunk. */
  #used = CHUNK_BYTES

  /**
   * Appends an entry to the chain that ends at `previous`, or starts a new chain. Returns the entry's offset.
   */
  add(entry: string | Buffer, previous?: ArenaOffset): ArenaOffset {
    const maxLength = entry.length * (typeof entry === 'string' ? MAX_UTF8_BYTES_PER_UNIT : 1)
    const chunk = this.#reserve(HEADER_BYTES + maxLength)
    const header = this.#used
    const start = header + HEADER_BYTES
    const length = typeof entry === 'string' ? chunk.write(entry, start) : entry.copy(chunk, start)
    chunk.writeDoubleLE(previous ?? NO_OFFSET, header)
    chunk.writeUInt32LE(length, header + LENGTH_FIELD)
    chunk.writeUInt32LE(previous === undefined ? 1 : this.count(previous) + 1, header + COUNT_FIELD)
    this.#used = start + length
    return (this.#chunks.length - 1) * CHUNK_BYTES + header
  }

  /** Number of entries in the chain that ends at `offset`. */
  count(offset: ArenaOffset): number {
    const { chunk, header } = this.#locate(offset)
    return chunk.readUInt32LE(header + COUNT_FIELD)
  }

  /** The entries of the chain that ends at `offset`, oldest first. */
  read(offset: ArenaOffset): readonly string[] {
    const entries: string[] = []
    for (let next = offset; next !== NO_OFFSET; ) {
      const { chunk, header } = this.#locate(next)
      const start = header + HEADER_BYTES
      entries.push(chunk.toString('utf8', start, start + chunk.readUInt32LE(header + LENGTH_FIELD)))
      next = chunk.readDoubleLE(header)
    }
    return entries.reverse()
  }

  /**
   * Returns a chunk with room for `bytes` after `#used`. Entries larger than a chunk get a chunk of their own
   * size.
   */
  #reserve(bytes: number): Buffer {
    const last = this.#chunks.at(-1)
    if (last && this.#used < CHUNK_BYTES && last.length - this.#used >= bytes) return last
    const chunk = Buffer.allocUnsafeSlow(Math.max(CHUNK_BYTES, bytes))
    this.#chunks.push(chunk)
    this.#used = 0
    return chunk
  }

  /** Every entry starts within the first `CHUNK_BYTES` of its chunk, even in a chunk that is larger. */
  #locate(offset: ArenaOffset): { chunk: Buffer; header: number } {
    const chunk = this.#chunks[Math.floor(offset / CHUNK_BYTES)]
    if (chunk === undefined) throw new Error(`offset ${offset} is outside of the arena`)
    return { chunk, header: offset % CHUNK_BYTES }
  }
}

const CHUNK_BYTES = 1024 * 1024

/** The previous entry's offset (8 bytes), this entry's length (4) and its number in the chain (4). */
const HEADER_BYTES = 16
const LENGTH_FIELD = 8
const COUNT_FIELD = 12

const NO_OFFSET = -1

const MAX_UTF8_BYTES_PER_UNIT = 3
