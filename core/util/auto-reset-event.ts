/**
 * An event for one waiter. `set` wakes the waiter, or lets the next `wait` resolve immediately. Several calls
 * of `set` before a `wait` count as one.
 */
export class AutoResetEvent {
  #isSet = false
  #wake: (() => void) | undefined

  set(): void {
    this.#isSet = true
    this.#wake?.()
  }

  /** Resolves when `set` has been called since the previous `wait` resolved. */
  async wait(): Promise<void> {
    if (!this.#isSet) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
    this.#isSet = false
  }
}
