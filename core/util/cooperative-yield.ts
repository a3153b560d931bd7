import { setImmediate } from 'node:timers/promises'

/** Splits long synchronous work into time slices, so that it does not block the event loop. */
export interface CooperativeYield {
  /** True when the current time slice is used up. */
  isDue(): boolean
  /** Resolves in the next iteration of the event loop, and starts a new time slice. */
  yieldNow(): Promise<void>
}

/** Usage: `if (slice.isDue()) await slice.yieldNow()`. */
export function createCooperativeYield(sliceMs = 5): CooperativeYield {
  let startedAt = performance.now()
  return {
    isDue: () => performance.now() - startedAt > sliceMs,
    async yieldNow() {
      await setImmediate()
      startedAt = performance.now()
    },
  }
}
