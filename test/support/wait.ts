import { setTimeout as sleep } from 'node:timers/promises'

const POLL_MS = 5

/** Longer than any test may take: a test that timed out must not keep its process busy forever. */
const MAX_WAIT_MS = 300_000

/**
 * Resolves with the value once it is truthy. Asks every few milliseconds, for conditions that no event
 * announces; the test's own timeout is the limit.
 */
export async function waitUntil<Value>(read: () => Value | Promise<Value>): Promise<Value> {
  const giveUpAt = performance.now() + MAX_WAIT_MS
  while (performance.now() < giveUpAt) {
    const value = await read()
    if (value) return value
    await sleep(POLL_MS)
  }
  throw new Error('The condition that a test waits for did not occur.')
}
