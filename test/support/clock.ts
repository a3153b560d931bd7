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

/** A system clock that tests set. It goes on meanwhile. */
export interface AdjustableClock {
  /** Sets `Date.now` forward, or back if negative. */
  adjust(milliseconds: number): void
  restore(): void
}

/** Takes over `Date.now`. Code that keeps a reference to it must be loaded or started afterwards. */
export function adjustClock(): AdjustableClock {
  const tellTime = Date.now
  let offset = 0
  Date.now = () => tellTime() + offset
  return {
    adjust(milliseconds) {
      offset += milliseconds
    },
    restore() {
      Date.now = tellTime
    },
  }
}
