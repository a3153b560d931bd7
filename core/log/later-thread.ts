import { EventLogUnavailableError } from '../contract/event-log.ts'
import type { MaybePromise } from '../soon.ts'
import type { SqliteThread } from './sqlite-thread.ts'

/** A thread that starts when it is first needed. */
export class LaterThread {
  readonly #start: () => Promise<SqliteThread>
  #thread: MaybePromise<SqliteThread> | undefined
  #isClosed = false

  /** `started` is one that is there already. */
  constructor(start: () => Promise<SqliteThread>, started?: SqliteThread) {
    this.#start = start
    this.#thread = started
  }

  /** Rejects with `LogUnavailable` when it cannot be had; the next one who needs it tries again. */
  get(): MaybePromise<SqliteThread> {
    this.#thread ??= this.#startOnce()
    return this.#thread
  }

  /** Waits for a start under way. What never started starts no more. */
  async close(): Promise<void> {
    this.#isClosed = true
    const thread = await this.#startedOrNot()
    await thread?.close()
  }

  async #startedOrNot(): Promise<SqliteThread | undefined> {
    try {
      return await this.#thread
    } catch {
      return undefined
    }
  }

  async #startOnce(): Promise<SqliteThread> {
    if (this.#isClosed) throw new EventLogUnavailableError('the event log is closed')
    try {
      this.#thread = await this.#start()
      return this.#thread
    } catch (error) {
      this.#thread = undefined
      throw error
    }
  }
}
