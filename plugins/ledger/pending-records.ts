/** The records of all workers that are not written yet, for whoever reads the ledger without its plugin. */
export class PendingRecords {
  #flush: () => Promise<unknown> = () => Promise.resolve()
  #recorded: ((requestId: string) => void) | undefined

  /** Called by the plugin, if it is listed. */
  onFlush(flush: () => Promise<unknown>): void {
    this.#flush = flush
  }

  /** Calls the listener with the ids of requests of this process whose records are written. */
  onRecorded(listener: (requestId: string) => void): void {
    this.#recorded = listener
  }

  /** Called by the plugin. */
  reportRecorded(records: readonly { readonly requestId: string }[]): void {
    if (this.#recorded === undefined) return
    for (const { requestId } of records) this.#recorded(requestId)
  }

  /** Resolves when they are written, or the ledger is away. */
  async flush(): Promise<void> {
    await this.#flush()
  }
}
