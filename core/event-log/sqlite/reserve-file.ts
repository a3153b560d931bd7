import { randomBytes } from 'node:crypto'
import { appendFileSync, statfsSync, statSync, truncateSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { RESERVE_FILE } from './check-folder.ts'

const RESERVED_BYTES = 1024 * 1024

/** What is given up at a time: enough for a small append, or for the files that SQLite opens. */
const STEP_BYTES = 32 * 1024

/** Pause between two attempts to take the space again. */
const REFILL_INTERVAL_MS = 10_000

/** The reserve of the data folder that a file is in. */
export function reserveBeside(file: string): ReserveFile {
  return new ReserveFile(join(dirname(file), RESERVE_FILE))
}

/** A file whose space is given up when the disk is full, for what must not fail then. */
class ReserveFile {
  readonly #file: string
  #refilledAt = Number.NEGATIVE_INFINITY

  constructor(file: string) {
    this.#file = file
  }

  /** Takes the space that is missing, if the disk has it. */
  refill(now = performance.now()): void {
    if (now - this.#refilledAt < REFILL_INTERVAL_MS) return
    this.#refilledAt = now
    const size = this.#size()
    if (size >= RESERVED_BYTES) return
    try {
      // File systems store zeros without taking space.
      appendFileSync(this.#file, randomBytes(RESERVED_BYTES - size), { mode: 0o600 })
    } catch {
      this.#truncate(size)
    }
  }

  /** Runs something that may fail because the disk is full, and gives space up until it succeeds. */
  use<Result>(run: () => Result): Result {
    for (;;) {
      try {
        return run()
      } catch (error) {
        const size = this.#size()
        if (size === 0 || !this.#isDiskFull()) throw error
        this.#truncate(Math.max(0, size - STEP_BYTES))
      }
    }
  }

  #isDiskFull(): boolean {
    const { bavail, bsize } = statfsSync(dirname(this.#file))
    return bavail * bsize < STEP_BYTES * 4
  }

  #size(): number {
    return statSync(this.#file, { throwIfNoEntry: false })?.size ?? 0
  }

  #truncate(size: number): void {
    if (this.#size() > size) truncateSync(this.#file, size)
  }
}
