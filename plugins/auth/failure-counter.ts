import type { Logger } from 'pino'
import type { RequestCounter } from '../rate-limit/counter.ts'
import { createMemoryFailures } from './memory-failures.ts'

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
