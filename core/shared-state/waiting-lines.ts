/** Lines of callers that wait for counters. The first of each line tries again and again, the others wait. */
export class WaitingLines {
  readonly #lines = new Map<string, Waiter[]>()

  /** Whether anybody waits. */
  get areInUse(): boolean {
    return this.#lines.size > 0
  }

  isEmpty(key: string): boolean {
    return !this.#lines.has(key)
  }

  /** Joins the line of a counter. */
  join(key: string): Waiter {
    const waiter: Waiter = new Waiter(
      () => this.#lines.get(key)?.[0] === waiter,
      () => this.#leave(key, waiter),
    )
    const line = this.#lines.get(key)
    if (line === undefined) this.#lines.set(key, [waiter])
    else line.push(waiter)
    return waiter
  }

  /** Lets the first of the line try again: the counter has changed. */
  wakeFirst(key: string): void {
    this.#lines.get(key)?.[0]?.wake()
  }

  #leave(key: string, waiter: Waiter): void {
    const line = this.#lines.get(key)?.filter((other) => other !== waiter) ?? []
    if (line.length === 0) this.#lines.delete(key)
    else this.#lines.set(key, line)
    line[0]?.wake()
  }
}

/** A place in a line. */
export class Waiter {
  readonly isFirst: () => boolean
  /** Must be called at last. */
  readonly leave: () => void
  #endSleep: (() => void) | undefined
  #isWoken = false

  constructor(isFirst: () => boolean, leave: () => void) {
    this.isFirst = isFirst
    this.leave = leave
  }

  /** Ends `sleep`, or the next one if there is none. */
  wake(): void {
    if (this.#endSleep === undefined) this.#isWoken = true
    else this.#endSleep()
  }

  /** Resolves after `ms` milliseconds, or earlier when woken. */
  async sleep(ms: number): Promise<void> {
    if (!this.#isWoken) {
      let timer: NodeJS.Timeout | undefined
      await new Promise<void>((resolve) => {
        this.#endSleep = resolve
        timer = setTimeout(resolve, ms)
      })
      clearTimeout(timer)
      this.#endSleep = undefined
    }
    this.#isWoken = false
  }
}
