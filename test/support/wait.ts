import { setTimeout as sleep } from 'node:timers/promises'

const POLL_MS = 5

/**
 * Resolves with the value once it is truthy. Asks every few milliseconds, for conditions that no event
 * announces; the test's own timeout is the limit.
 */
export async function waitUntil<Value>(read: () => Value | Promise<Value>): Promise<Value> {
  for (;;) {
    const value = await read()
    if (value) return value
    await sleep(POLL_MS)
  }
}
