import { setTimeout as sleep } from 'node:timers/promises'
import {
  type Attempt,
  GatewayError,
  type Reply,
  type ReplyingExchange,
  type Route,
  type Target,
} from '../../core/contract/index.ts'
import { checkModelAllowed } from '../../providers/shared/allowed-models.ts'
import type { CallProvider } from './call-provider.ts'
import { nextTarget } from './next-target.ts'

const DEFAULT_RETRY_DELAY_MS = 100

/** A fixed model is not retried if its provider asks for a longer delay. */
const MAX_RETRY_DELAY_MS = 2000

/**
 * Sends the request to the targets of the route until one replies. A call to a provider resolves before
 * anything of its reply is sent to the client: a stream is only returned once its first event has arrived.
 * Throws the error for the client if every attempt failed, or the last one may have been executed and
 * `retriesOnTimeout` is false; it tells clients not to retry.
 */
export async function dispatchExchange(
  exchange: ReplyingExchange,
  route: Route,
  callProvider: CallProvider,
  retriesOnTimeout = false,
): Promise<Reply> {
  const errors: GatewayError[] = []
  const tried: Target[] = []
  let remaining = route
  for (
    let target = nextTarget(remaining, tried);
    target !== undefined;
    target = nextTarget(remaining, tried)
  ) {
    // Also for routes that another plugin has set.
    checkModelAllowed(exchange.account, target)
    tried.push(target)
    const startedAt = performance.now()
    let error: GatewayError
    try {
      const reply = await callProvider(exchange, target)
      recordAttempt(exchange, target, startedAt, 'ok')
      return reply
    } catch (thrown) {
      recordFailure(exchange, target, startedAt, thrown)
      if (!GatewayError.isInstance(thrown)) throw thrown
      error = thrown
    }
    errors.push(error)
    const isUnanswered = error.details.executed === 'maybe' && !retriesOnTimeout
    if (isUnanswered || !canTryNextTarget(error, route))
      throw error.status >= 500 ? forbidRetry(error) : error
    if (error.code === 'context_length_exceeded') remaining = withLargerContext(remaining, target)
    if (route.isFixed && errors.length === 1) await waitForRetry(error, exchange.client.signal)
  }
  throw finalError(errors, route)
}

/**
 * The error after every attempt failed. An open circuit is no attempt: clients may retry later. They may also
 * wait for the end of a rate limit.
 */
function finalError(errors: readonly GatewayError[], { isFixed }: Route): GatewayError {
  const last = errors.at(-1)
  const tooLong = errors.find(({ code }) => code === 'context_length_exceeded')
  if (tooLong !== undefined) return tooLong
  const error = isFixed && last !== undefined ? last : summarizeErrors(errors)
  return errors.every(isUnavailable) || saysWhenToRetry(error) ? error : forbidRetry(error)
}

function isUnavailable({ code }: GatewayError): boolean {
  return code === 'model_unavailable'
}

/** The error of a provider that does not say when its rate limit ends forbids a retry by itself. */
function saysWhenToRetry({ code, details }: GatewayError): boolean {
  const { retryAfter, headers } = details
  return code === 'provider_rate_limited' && retryAfter !== undefined && headers === undefined
}

/** See docs/decisions/routing.md, "Clients are told not to retry". */
function forbidRetry(error: GatewayError): GatewayError {
  return error.withHeader('x-should-retry', 'false')
}

/**
 * Another provider may have the API key or the model that this one lacks. If the model is fixed, these errors
 * go to the client. See docs/decisions/routing.md, "An automatic choice continues when our key is refused or
 * the provider does not know the model".
 */
function canTryNextTarget({ code, mayFailOver }: GatewayError, { isFixed }: Route): boolean {
  return mayFailOver || (!isFixed && TARGET_ERRORS.has(code))
}

const TARGET_ERRORS: ReadonlySet<string> = new Set([
  'provider_authentication_error',
  'model_not_found',
  'context_length_exceeded',
])

/** Keeps the targets with a larger context than one for which the request was too long. */
function withLargerContext(route: Route, { entry }: Target): Route {
  const isLarger = (target: Target) => (target.entry?.context ?? 0) > (entry?.context ?? 0)
  // A route has targets, but `nextTarget` needs none.
  const targets = route.targets.filter(isLarger) as unknown as Route['targets']
  const bestTargets = route.targets.slice(0, route.bestTargets).filter(isLarger).length
  return { ...route, targets, bestTargets }
}

function recordAttempt(
  exchange: ReplyingExchange,
  target: Target,
  startedAt: number,
  outcome: Attempt['outcome'],
  billing?: Pick<Attempt, 'mayBeBilled'>,
): void {
  exchange.attempts.push({ target, outcome, startedAt, ms: performance.now() - startedAt, ...billing })
}

/** Warns of a call that may be billed, because its cost is an estimate. */
function recordFailure(exchange: ReplyingExchange, target: Target, startedAt: number, thrown: unknown): void {
  if (!GatewayError.isInstance(thrown)) {
    const isCancelled = exchange.client.isAborted
    const billing = isCancelled ? MAY_BE_BILLED : undefined
    recordAttempt(exchange, target, startedAt, isCancelled ? 'cancelled' : 'internal_error', billing)
  } else if (thrown.details.executed === undefined) {
    recordAttempt(exchange, target, startedAt, thrown.code)
  } else {
    recordAttempt(exchange, target, startedAt, thrown.code, MAY_BE_BILLED)
    const { provider, model } = target
    const what = thrown.details.executed === 'maybe' ? 'was not answered' : 'had no usable answer'
    const message = `A call to ${provider}/${model} ${what} and may be billed; its cost is estimated.`
    exchange.warnings.push({ code: 'estimated_cost', message })
  }
}

const MAY_BE_BILLED = { mayBeBilled: true } as const

/**
 * Waits before the retry of a fixed model. Throws the error if a retry is not worthwhile; a client may wait
 * longer.
 */
async function waitForRetry(error: GatewayError, signal: AbortSignal): Promise<void> {
  const { retryAfter } = error.details
  const delayMs = retryAfter === undefined ? DEFAULT_RETRY_DELAY_MS : retryAfter * 1000
  if (delayMs > MAX_RETRY_DELAY_MS || error.code === 'provider_quota_exceeded') throw error
  await sleep(delayMs, undefined, { signal }).catch(() => signal.throwIfAborted())
}

/** Of two errors of rate limits, the one after which clients may retry sooner. */
function sooner(one: GatewayError, other: GatewayError): GatewayError {
  const waitOf = (error: GatewayError) => (saysWhenToRetry(error) ? error.details.retryAfter : undefined)
  return (waitOf(other) ?? Infinity) < (waitOf(one) ?? Infinity) ? other : one
}

/** The error after every target failed: 429 if all of them were rate limited, otherwise 503. */
function summarizeErrors(errors: readonly GatewayError[]): GatewayError {
  const [first, ...others] = errors
  if (first !== undefined && errors.every(({ status }) => status === 429)) return others.reduce(sooner, first)
  return new GatewayError(
    'no_providers_available',
    'Every provider that supports this request failed. Try again later.',
    {
      retryAfter: Math.min(...errors.map(({ details }) => details.retryAfter ?? 1)),
      cause: errors.at(-1),
    },
  )
}
