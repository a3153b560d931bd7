import { setImmediate } from 'node:timers/promises'

/** Splits long synchronous work into time slices, so that it does not block the event loop. */
export interface CooperativeYield {
  /** True when the current time slice is used up. */
  isDue(): boolean
  /** Resolves in the next iteration of the event loop, and starts a new time slice. */
  yieldNow(): Promise<void>
}

/** Usage: `if (slice.isDue()) await slice.yieldNow()`. */
export function createCooperativeYield(sliceMs = 3): CooperativeYield {
  let startedAt = performance.now()
  return {
    isDue: () => performance.now() - startedAt > sliceMs,
    async yieldNow() {
      await setImmediate()
      startedAt = performance.now()
    },
  }
}

const BACKGROUND_SLICE_MS = 1

let lastBackgroundSlice: Promise<unknown> = Promise.resolve()

/**
 * As `createCooperativeYield`, for work that requests of others must not wait for: however much of it there
 * is, it takes one slice in each iteration of the event loop.
 */
export function createBackgroundYield(): CooperativeYield {
  const { isDue, yieldNow } = createCooperativeYield(BACKGROUND_SLICE_MS)
  return {
    isDue,
    async yieldNow() {
      const next = lastBackgroundSlice.then(yieldNow)
      lastBackgroundSlice = next
      await next
    },
  }
}

/**
 * Resolves when what arrived meanwhile was received. The first immediate resolves in the iteration of the
 * event loop that received what is being handled, before anything else is received.
 */
export async function afterNextInput(): Promise<void> {
  await setImmediate()
  await setImmediate()
}

/** As `afterNextInput`, if there was so much work that more of it should wait for others. */
export async function afterManyItems(count: number): Promise<void> {
  if (count >= MIN_ITEMS_FOR_OWN_TURN) await afterNextInput()
}

/** Work on fewer items is done together with what the same turn of the event loop did before. */
export const MIN_ITEMS_FOR_OWN_TURN = 100

/** Like `Array.map`, in time slices. With many items, they and what follows have turns of their own. */
export async function mapInSlices<Item, Result>(
  items: readonly Item[],
  map: (item: Item, index: number) => Result,
  slice = createCooperativeYield(),
): Promise<readonly Result[]> {
  const results: Result[] = []
  if (items.length >= MIN_ITEMS_FOR_OWN_TURN) {
    // As `afterNextInput`.
    await setImmediate()
    await slice.yieldNow()
  }
  for (const [index, item] of items.entries()) {
    if (slice.isDue()) await slice.yieldNow()
    results.push(map(item, index))
  }
  if (items.length >= MIN_ITEMS_FOR_OWN_TURN) await slice.yieldNow()
  return results
}
