import { LRUCache } from 'lru-cache'
import type { Logger } from 'pino'
import type { RequestCounter } from '../rate-limit/counter.ts'

/** Counts failures by address. Never rejects. */
export type FailureCounter = RequestCounter<string>

const WINDOW_SECONDS = 60

/** Counts in this process, for as long as the store of all processes does not answer. */
export function createFailureCounter(shared: Promise<RequestCounter<string>> | undefined): FailureCounter {
  const own = createMemoryFailures(WINDOW_SECONDS)
  if (shared === undefined) return own
  return {
    async count(id) {
      try {
        return await (await shared).count(id)
      } catch {
        return own.count(id)
      }
    },
    close: async () => (await shared).close(),
  }
}

/** Failures that all processes with this Redis count together. */
export async function openRedisFailures(
  url: string,
  timeoutMs: number,
  logger: Logger,
): Promise<RequestCounter<string>> {
  // Whether Redis is there is told by the rate limit already.
  const quiet = logger.child({}, { level: 'silent' })
  const options = { url, timeoutMs, windowSeconds: WINDOW_SECONDS, prefix: 'signalbox:failed-keys' }
  const { openRedisCounter } = await import('../rate-limit/redis-counter.ts')
  return openRedisCounter(options, quiet)
}

/** Of a flood of addresses the latest are remembered: some megabytes at most. */
export const MAX_ADDRESSES = 20_000

/** Counts in this process. A window begins with the first failure of an address. */
export function createMemoryFailures(windowSeconds: number): RequestCounter<string> {
  const failures = new LRUCache<string, { used: number }>({ max: MAX_ADDRESSES, ttl: windowSeconds * 1000 })
  return {
    async count(id) {
      const known = failures.get(id) ?? { used: 0 }
      if (known.used++ === 0) failures.set(id, known)
      return { used: known.used, resetMs: failures.getRemainingTTL(id) }
    },
    close: async () => undefined,
  }
}
