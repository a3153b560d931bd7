/** Where a note stands on a shelf. */
export type ArenaOffset = number

/**
 * Notes in chains, in memory but out of sight of the garbage collector: millions of small things that are seldom looked at would
 * otherwise cost their size again in every collection. Notes are never changed and never removed.
 */
export class ByteArena {
  readonly #boards: Buffer[] = []
  #used = BOARD_BYTES

  /** Puts a note on the shelf, as the next in the chain that ends at `before`, or as the first of one. */
  add(note: string | Buffer, before?: ArenaOffset): ArenaOffset {
    const board = this.#makeRoom(
      HEADER_BYTES + note.length * (typeof note === 'string' ? MOST_BYTES_PER_UNIT : 1),
    )
    const at = this.#used
    const start = at + HEADER_BYTES
    const length = typeof note === 'string' ? board.write(note, start) : note.copy(board, start)
    board.writeDoubleLE(before ?? NOTHING, at)
    board.writeUInt32LE(length, at + 8)
    board.writeUInt32LE(before === undefined ? 1 : this.count(before) + 1, at + 12)
    this.#used = start + length
    return (this.#boards.length - 1) * BOARD_BYTES + at
  }

  /** How many notes are in the chain that ends here. */
  count(place: ArenaOffset): number {
    const { board, at } = this.#find(place)
    return board.readUInt32LE(at + 12)
  }

  /** The notes of the chain that ends here, oldest first. */
  read(place: ArenaOffset): readonly string[] {
    const notes: string[] = []
    for (let next = place; next !== NOTHING; ) {
      const { board, at } = this.#find(next)
      const start = at + HEADER_BYTES
      notes.push(board.toString('utf8', start, start + board.readUInt32LE(at + 8)))
      next = board.readDoubleLE(at)
    }
    return notes.reverse()
  }

  #makeRoom(bytes: number): Buffer {
    const last = this.#boards.at(-1)
    if (last && this.#used < BOARD_BYTES && last.length - this.#used >= bytes) return last
    const board = Buffer.allocUnsafeSlow(Math.max(BOARD_BYTES, bytes))
    this.#boards.push(board)
    this.#used = 0
    return board
  }

  /** A note always begins within the first `BOARD_BYTES` of its board, however long that is. */
  #find(place: ArenaOffset): { board: Buffer; at: number } {
    const board = this.#boards[Math.floor(place / BOARD_BYTES)]
    if (board === undefined) throw new Error(`there is no place ${place} on the shelf`)
    return { board, at: place % BOARD_BYTES }
  }
}

const BOARD_BYTES = 1024 * 1024

/** The note before, the length of this one, and how many there are up to it. */
const HEADER_BYTES = 16

const NOTHING = -1

/** UTF-8 of one UTF-16 code unit. */
const MOST_BYTES_PER_UNIT = 3
