import { setTimeout as sleep } from 'node:timers/promises'
import {
  type Attempt,
  type Exchange,
  GatewayError,
  type Route,
  type Target,
} from '../../core/contract/index.ts'
import type { CallProvider } from './call-provider.ts'

/** Calls to providers for one request, the first included (docs/routing.md, "Failover"). */
const MAX_ATTEMPTS = 3

/** A pinned model is tried again after `usual`, and not at all when its provider asks for more than `most`. */
const RETRY_MS = { usual: 100, most: 2000 }

/**
 * Sends the request to the route's targets until one answers. Nothing was sent to the client yet: a stream has begun
 * once its first event is here. Throws the error to answer with when every try failed.
 */
export async function dispatchExchange(
  exchange: Exchange,
  route: Route,
  callProvider: CallProvider,
): Promise<void> {
  const failures: GatewayError[] = []
  const tried: Target[] = []
  for (let target = nextTarget(route, tried); target !== undefined; target = nextTarget(route, tried)) {
    tried.push(target)
    const startedAt = performance.now()
    let failure: GatewayError
    try {
      await callProvider(exchange, target)
      record(exchange, target, startedAt, 'ok')
      return
    } catch (error) {
      const cause = exchange.client.isAborted ? 'cancelled' : 'internal_error'
      record(exchange, target, startedAt, GatewayError.isInstance(error) ? error.code : cause)
      if (!GatewayError.isInstance(error)) throw error
      failure = error
    }
    failures.push(failure)
    if (!failure.mayFailOver && !isOthersChance(failure, route)) throw failure
    if (route.isFixed && failures.length === 1) await waitForRetry(failure, exchange.client.signal)
  }
  throw route.isFixed ? failures.at(-1) : summarise(failures)
}

/** What one provider lacks, the key for it or the model, another may have; who pinned the model must hear of it. */
function isOthersChance({ code }: GatewayError, { isFixed }: Route): boolean {
  return !isFixed && (code === 'provider_authentication_error' || code === 'model_not_found')
}

/** A pinned target twice; else the best that was not tried, of a provider that has not failed as long as there is one. */
function nextTarget({ isFixed, targets }: Route, tried: readonly Target[]): Target | undefined {
  if (isFixed) return tried.length < 2 ? targets[0] : undefined
  if (tried.length === MAX_ATTEMPTS) return undefined
  const untried = targets.filter((target) => !tried.includes(target))
  return untried.find(({ provider }) => !tried.some((target) => target.provider === provider)) ?? untried[0]
}

function record(exchange: Exchange, target: Target, startedAt: number, outcome: Attempt['outcome']): void {
  exchange.attempts.push({ target, outcome, startedAt, ms: performance.now() - startedAt })
}

async function waitForRetry(failure: GatewayError, signal: AbortSignal): Promise<void> {
  const { retryAfter } = failure.details
  const delay = retryAfter === undefined ? RETRY_MS.usual : retryAfter * 1000
  if (delay > RETRY_MS.most || failure.code === 'provider_quota_exceeded') throw failure
  await sleep(delay, undefined, { signal })
}

/** What the client hears when every target failed: to slow down when that is why, else that nobody is there. */
function summarise(failures: readonly GatewayError[]): GatewayError {
  const waits = failures.map(({ details }) => details.retryAfter ?? 1)
  const limited = failures.find(({ status }) => status === 429)
  if (limited !== undefined && failures.every(({ status }) => status === 429)) return limited
  return new GatewayError(
    'no_providers_available',
    'Every provider that could serve this request failed. Try again.',
    {
      retryAfter: Math.min(...waits),
      cause: failures.at(-1),
    },
  )
}
