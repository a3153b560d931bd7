/** Wakes one waiter. A ring that nobody was waiting for is kept, so none is missed; several count as one. */
export class AutoResetEvent {
  #rung = false
  #wake: (() => void) | undefined

  set(): void {
    this.#rung = true
    this.#wake?.()
  }

  /** Resolves at the first ring since the last time it resolved. */
  async wait(): Promise<void> {
    if (!this.#rung) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
    this.#rung = false
  }
}
