import { setTimeout as sleep } from 'node:timers/promises'

const FIRST_POLL_MS = 2
const MAX_POLL_MS = 50

/** Longer than any test may take: a test that timed out must not keep its process busy forever. */
const MAX_WAIT_MS = 600_000

/**
 * Resolves with the value once it is truthy. Asks again after a few milliseconds, then less often, for
 * conditions that no event announces; the test's own timeout is the limit.
 */
export async function waitUntil<Value>(read: () => Value | Promise<Value>): Promise<Value> {
  const giveUpAt = performance.now() + MAX_WAIT_MS
  for (
    let pollMs = FIRST_POLL_MS;
    performance.now() < giveUpAt;
    pollMs = Math.min(pollMs * 1.5, MAX_POLL_MS)
  ) {
    const value = await read()
    if (value) return value
    await sleep(pollMs)
  }
  throw new Error('The condition that a test waits for did not occur.')
}
