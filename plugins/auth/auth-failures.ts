import type { IncomingMessage } from 'node:http'
import type { Logger } from 'pino'
import { Counter, type Registry } from 'prom-client'
import { GatewayError } from '../../core/contract/index.ts'
import { addressGroup, type ClientAddressResolver } from '../../core/http/client-address.ts'
import { retryAdvice, toRetryAfterSeconds } from '../../core/http/error-words.ts'
import { createMemoryCounters } from '../../core/shared-state/memory.ts'
import type { SharedCounters } from '../../core/shared-state/shared-state.ts'
import { createBoundedCache } from '../../core/util/bounded-cache.ts'

/** Kinds of keys are counted separately, so that invalid API keys do not lock out operators. */
type KeyKind = 'api' | 'admin'

/** `refused` is a 401; `limited` is a 429 because the address is over its limit. */
type AuthFailureOutcome = 'refused' | 'limited'

/** Limits authentication failures per client address. */
export interface AuthFailureLimiter {
  /** Counts a failure. Resolves with the error to throw: `error`, or 429 if the address is over its limit. */
  recordFailure(kind: KeyKind, request: IncomingMessage, error: GatewayError): Promise<GatewayError>
  /**
   * Returns a 429 if the address has used up its limit, otherwise undefined. Counts nothing. See
   * docs/decisions/limits.md, "A valid key never waits for the failure counter".
   */
  limitErrorFor(kind: KeyKind, request: IncomingMessage): GatewayError | undefined
}

interface AuthFailureLimiterOptions {
  /** Failures per minute and address; null means no limit. */
  readonly limit: number | null
  readonly counters: SharedCounters
  readonly resolveAddress: ClientAddressResolver
  readonly recordOutcome: (kind: KeyKind, outcome: AuthFailureOutcome) => void
  readonly logger: Logger
}

/** Limits memory to a few megabytes. When exceeded, the least recently used addresses are dropped. */
const MAX_LIMITED_ADDRESSES = 20_000

const WINDOW_SECONDS = 60

export function createAuthFailureLimiter(options: AuthFailureLimiterOptions): AuthFailureLimiter {
  const { limit, counters, resolveAddress, recordOutcome, logger } = options
  // When the window of each address at its limit ends, so that requests with a valid key need no counter.
  const limitedUntil = createBoundedCache<string, number>(MAX_LIMITED_ADDRESSES)
  // Counts while the shared counters are unavailable.
  const localCounters = createMemoryCounters()
  const count = async (id: string) => {
    try {
      return await counters.add(id, 1, WINDOW_SECONDS)
    } catch {
      return localCounters.add(id, 1, WINDOW_SECONDS)
    }
  }
  const identify = (kind: KeyKind, request: IncomingMessage) => {
    const address = addressGroup(resolveAddress(request))
    return { address, id: `${kind}:${address}` }
  }

  return {
    async recordFailure(kind, request, error) {
      if (limit === null) {
        recordOutcome(kind, 'refused')
        return error
      }
      const { address, id } = identify(kind, request)
      const { total, resetMs } = await count(id)
      if (total >= limit) limitedUntil.set(id, performance.now() + resetMs)
      if (total === limit + 1) logger.warn({ address, kind }, 'authentication failure limit exceeded')
      recordOutcome(kind, total > limit ? 'limited' : 'refused')
      return total > limit ? tooManyFailures(resetMs) : error
    },
    limitErrorFor(kind, request) {
      if (limitedUntil.size === 0) return undefined
      const remainingMs = (limitedUntil.get(identify(kind, request).id) ?? 0) - performance.now()
      return remainingMs > 0 ? tooManyFailures(remainingMs) : undefined
    },
  }
}

function tooManyFailures(resetMs: number): GatewayError {
  const retryAfter = toRetryAfterSeconds(resetMs)
  const message = `Too many failed authentication attempts from this address. ${retryAdvice(retryAfter)}`
  return new GatewayError('rate_limit_exceeded', message, { retryAfter })
}

const KINDS: readonly KeyKind[] = ['api', 'admin']
const OUTCOMES: readonly AuthFailureOutcome[] = ['refused', 'limited']

/** Creates the metric of authentication failures. All series exist from the start: rates have no gaps. */
export function createAuthFailureMetric(
  metrics: Registry,
): (kind: KeyKind, outcome: AuthFailureOutcome) => void {
  const counter = new Counter({
    name: 'signalbox_auth_failures_total',
    help: 'Requests with an invalid key by kind of key and outcome.',
    labelNames: ['kind', 'outcome'],
    registers: [metrics],
  })
  for (const kind of KINDS) for (const outcome of OUTCOMES) counter.inc({ kind, outcome }, 0)
  return (kind, outcome) => counter.inc({ kind, outcome })
}
