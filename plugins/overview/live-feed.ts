import { errorMessage } from '../../core/util/error-message.ts'
import type { LedgerCalls, StoredRecord } from '../ledger/index.ts'

/** What a viewer receives: records, or the number of records that were dropped. */
export interface LiveBatch {
  readonly records: readonly StoredRecord[]
  readonly dropped: number
}

const POLL_MS = 500

/**
 * Asks the ledger for the records that were written last, once for all viewers of this process. The process
 * that writes for all workers answers. See docs/decisions/ledger.md, "Whoever watches asks the writer".
 */
export class LiveFeed {
  readonly #ledger: Pick<LedgerCalls, 'tail'>
  readonly #onError: (reason: string) => void
  readonly #viewers = new Set<(batch: LiveBatch) => void>()
  #after: number | undefined
  #timer: NodeJS.Timeout | undefined
  #isPolling = false
  #isAway = false

  constructor(ledger: Pick<LedgerCalls, 'tail'>, onError: (reason: string) => void) {
    this.#ledger = ledger
    this.#onError = onError
  }

  /** Resolves when records that are written from now on are received. Returns an unsubscribe function. */
  async watch(receive: (batch: LiveBatch) => void): Promise<() => void> {
    if (this.#after === undefined) {
      const { next } = await this.#ledger.tail(undefined)
      // Another viewer may have come first, and would miss what was written in between.
      this.#after ??= next
    }
    this.#viewers.add(receive)
    this.#timer ??= setInterval(() => void this.#poll(), POLL_MS).unref()
    return () => {
      this.#viewers.delete(receive)
      if (this.#viewers.size === 0) this.close()
    }
  }

  close(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
    this.#after = undefined
  }

  async #poll(): Promise<void> {
    const after = this.#after
    if (this.#isPolling || after === undefined) return
    this.#isPolling = true
    try {
      const { records, next, dropped } = await this.#ledger.tail(after)
      this.#isAway = false
      if (this.#after === undefined) return
      this.#after = next
      if (records.length + dropped > 0) for (const receive of this.#viewers) receive({ records, dropped })
    } catch (error) {
      if (!this.#isAway) this.#onError(errorMessage(error))
      this.#isAway = true
    } finally {
      this.#isPolling = false
    }
  }
}
