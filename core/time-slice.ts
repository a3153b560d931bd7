import { setImmediate as nextTurn } from 'node:timers/promises'

/** Long work done in slices, so that others get their turn. */
export interface TimeSlice {
  /** True when the slice is used up: then `await` the pause. */
  isOver(): boolean
  pause(): Promise<void>
}

export function createTimeSlice(milliseconds = 5): TimeSlice {
  let begun = performance.now()
  return {
    isOver: () => performance.now() - begun > milliseconds,
    async pause() {
      await nextTurn()
      begun = performance.now()
    },
  }
}
