/** A clock that tests move. */
export interface StoppedClock {
  pass(milliseconds: number): void
  /** `Date.now` tells the time again. */
  restore(): void
}

/** Stops `Date.now`, which libraries read; timers go on. */
export function stopClock(): StoppedClock {
  const tellTime = Date.now
  let now = tellTime()
  Date.now = () => now
  return {
    pass(milliseconds) {
      now += milliseconds
    },
    restore() {
      Date.now = tellTime
    },
  }
}
