import type { IncomingMessage } from 'node:http'
import { LRUCache } from 'lru-cache'
import type { Logger } from 'pino'
import { Counter, type Registry } from 'prom-client'
import { GatewayError } from '../../core/contract/index.ts'
import { addressGroup, type ReadAddress } from '../../core/http/client-address.ts'
import type { RequestCount, RequestCounter } from '../rate-limit/counter.ts'
import { toRetryAfterSeconds } from '../rate-limit/plugin.ts'

/** Whose key was tried. They are counted apart, so that a wrong API key keeps no administrator out. */
type KeyKind = 'api' | 'admin'

/** What became of a key that was refused: `limited` ones came from an address that had failed too often. */
type AuthFailureOutcome = 'refused' | 'limited'

/** Counts keys that failed, by address, and says when there were too many in a minute. */
export interface AuthFailureLimiter {
  /** Counts a failure; gives what to answer: the refusal, or 429 from the one after the limit on. */
  recordFailure(kind: KeyKind, request: IncomingMessage, refusal: GatewayError): Promise<GatewayError>
  /** 429 while the address is over its limit, else undefined. */
  limitErrorFor(kind: KeyKind, request: IncomingMessage): GatewayError | undefined
  close(): Promise<void>
}

interface AuthFailureLimiterOptions {
  /** Failures in a minute from one address; null is no limit. */
  readonly limit: number | null
  readonly counter: AuthFailureCounter
  readonly readAddress: ReadAddress
  readonly count: (kind: KeyKind, outcome: AuthFailureOutcome) => void
  readonly logger: Logger
}

export function createAuthFailureLimiter({
  limit,
  counter,
  readAddress,
  count,
  logger,
}: AuthFailureLimiterOptions): AuthFailureLimiter {
  // Who has used up the limit, until when; a good key asks here, and waits for no counter.
  const ends = new LRUCache<string, number>({ max: MAX_ADDRESSES })
  const whoIs = (kind: KeyKind, request: IncomingMessage) => {
    const address = addressGroup(readAddress(request))
    return { address, id: `${kind}:${address}` }
  }

  return {
    async recordFailure(kind, request, refusal) {
      if (limit === null) {
        count(kind, 'refused')
        return refusal
      }
      const { address, id } = whoIs(kind, request)
      const { used, resetMs }: RequestCount = await counter.count(id)
      if (used >= limit) ends.set(id, performance.now() + resetMs)
      if (used === limit + 1) logger.warn({ address, kind }, 'too many keys of an address failed')
      count(kind, used > limit ? 'limited' : 'refused')
      return used > limit ? tooMany(resetMs) : refusal
    },
    limitErrorFor(kind, request) {
      if (ends.size === 0) return undefined
      const left = (ends.get(whoIs(kind, request).id) ?? 0) - performance.now()
      return left > 0 ? tooMany(left) : undefined
    },
    close: counter.close,
  }
}

function tooMany(resetMs: number): GatewayError {
  const retryAfter = toRetryAfterSeconds(resetMs)
  const message = `Too many keys from this address failed. Try again in ${retryAfter} seconds.`
  return new GatewayError('rate_limit_exceeded', message, { retryAfter })
}

const KINDS: readonly KeyKind[] = ['api', 'admin']
const OUTCOMES: readonly AuthFailureOutcome[] = ['refused', 'limited']

/** A counter of keys that failed; every series is there from the start, so that a rate over them has no gaps. */
export function createAuthFailureMetric(
  metrics: Registry,
): (kind: KeyKind, outcome: AuthFailureOutcome) => void {
  const counter = new Counter({
    name: 'signalbox_failed_keys_total',
    help: 'Keys that were wrong, by kind and what was answered.',
    labelNames: ['kind', 'outcome'],
    registers: [metrics],
  })
  for (const kind of KINDS) for (const outcome of OUTCOMES) counter.inc({ kind, outcome }, 0)
  return (kind, outcome) => counter.inc({ kind, outcome })
}

/** Counts failures by address. Never rejects. */
export type AuthFailureCounter = RequestCounter<string>

const WINDOW_SECONDS = 60

/** Counts in this process, for as long as the store of all processes does not answer. */
export function createAuthFailureCounter(
  shared: Promise<RequestCounter<string>> | undefined,
): AuthFailureCounter {
  const own = createMemoryAuthFailureCounter(WINDOW_SECONDS)
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
export async function openRedisAuthFailureCounter(
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
export function createMemoryAuthFailureCounter(windowSeconds: number): RequestCounter<string> {
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
