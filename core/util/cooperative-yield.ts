import { setImmediate as nextTurn } from 'node:timers/promises'

/** Long work done in slices, so that others get their turn. */
interface CooperativeYield {
  /** True when the slice is used up: then `await` the pause. */
  isDue(): boolean
  yieldNow(): Promise<void>
}

export function createCooperativeYield(milliseconds = 5): CooperativeYield {
  let begun = performance.now()
  return {
    isDue: () => performance.now() - begun > milliseconds,
    async yieldNow() {
      await nextTurn()
      begun = performance.now()
    },
  }
}
