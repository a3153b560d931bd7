import { nextImmediate } from '../../core/util/next-immediate.ts'

/** Timers that end only when a test lets time pass. */
export interface StoppedTimers {
  /** Lets time pass for these timers, and calls those that end meanwhile. */
  pass(milliseconds: number): void
  /** Lets time pass again and again until the promise is settled. */
  passUntil(milliseconds: number, promise: Promise<unknown>): Promise<void>
  /** Resolves the next time that a timer of this length is started or refreshed. */
  started(lengthMs: number): Promise<void>
  /** New timers are real ones again. */
  restore(): void
}

/**
 * Takes over `setTimeout` for timers of these lengths; choose ones that nothing else has. All other timers go
 * on, those of libraries and of Node among them. Only code that calls the global function is affected.
 */
export function stopTimers(...lengthsMs: readonly number[]): StoppedTimers {
  const real = { setTimeout: globalThis.setTimeout, clearTimeout: globalThis.clearTimeout }
  const running = new Map<object, StoppedTimer>()
  const waiting = new Map<number, (() => void)[]>()
  let now = 0

  function start(timer: StoppedTimer): void {
    timer.endsAt = now + timer.lengthMs
    running.set(timer.handle, timer)
    const notified = waiting.get(timer.lengthMs) ?? []
    waiting.delete(timer.lengthMs)
    for (const resolve of notified) resolve()
  }

  function stopped(callback: (...values: unknown[]) => void, lengthMs: number, values: unknown[]) {
    const handle = {
      refresh() {
        start(timer)
        return handle
      },
      ref: () => handle,
      unref: () => handle,
      hasRef: () => true,
    }
    const timer = { handle, lengthMs, endsAt: 0, end: () => callback(...values) }
    start(timer)
    return handle
  }

  const setTimeout = (callback: () => void, lengthMs = 1, ...values: []) =>
    lengthsMs.includes(lengthMs)
      ? stopped(callback, lengthMs, values)
      : real.setTimeout(callback, lengthMs, ...values)
  globalThis.setTimeout = Object.assign(setTimeout, real.setTimeout) as typeof globalThis.setTimeout
  globalThis.clearTimeout = ((timer: NodeJS.Timeout | undefined) => {
    if (timer === undefined || !running.delete(timer)) real.clearTimeout(timer)
  }) as typeof globalThis.clearTimeout

  function pass(milliseconds: number): void {
    now += milliseconds
    for (const timer of [...running.values()])
      if (timer.endsAt <= now && running.delete(timer.handle)) timer.end()
  }

  return {
    pass,
    async passUntil(milliseconds, promise) {
      let isSettled = false
      const settle = () => {
        isSettled = true
      }
      promise.then(settle, settle)
      while (!isSettled) {
        pass(milliseconds)
        await nextImmediate()
      }
    },
    started: (lengthMs) =>
      new Promise((resolve) => waiting.set(lengthMs, [...(waiting.get(lengthMs) ?? []), resolve])),
    restore() {
      Object.assign(globalThis, real)
    },
  }
}

interface StoppedTimer {
  readonly handle: object
  readonly lengthMs: number
  endsAt: number
  readonly end: () => void
}
