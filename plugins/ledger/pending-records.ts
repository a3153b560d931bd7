/** The records of all workers that are not written yet, for whoever reads the ledger without its plugin. */
export class PendingRecords {
  #flush: () => Promise<unknown> = () => Promise.resolve()

  /** Called by the plugin, if it is listed. */
  onFlush(flush: () => Promise<unknown>): void {
    this.#flush = flush
  }

  /** Resolves when they are written, or the ledger is away. */
  async flush(): Promise<void> {
    await this.#flush()
  }
}
