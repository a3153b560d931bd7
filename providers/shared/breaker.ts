import {
  BrokenCircuitError,
  type CircuitBreakerPolicy,
  CircuitState,
  ConsecutiveBreaker,
  circuitBreaker,
  DelegateBackoff,
  handleWhen,
} from 'cockatiel'
import { LRUCache } from 'lru-cache'
import { GatewayError, type Model, type Target } from '../../core/contract/index.ts'

export interface BreakerSettings {
  /** Failures in a row that open a target's breaker. */
  readonly failures: number
  /** Milliseconds until one request may try again; doubled, up to twelve times this, while the target keeps failing. */
  readonly open_ms: number
}

/** Which targets may be called. One breaker per provider and model; a provider's own `retry-after` is kept to as well. */
export interface CircuitBreakers {
  /** Calls through the target's breaker; throws `model_unavailable` at once while that is open. */
  guard<Value>(target: Target, call: () => Promise<Value>): Promise<Value>
  isUsable(model: Model): boolean
  /** Of every target that was called, those without a catalogued model too. */
  breakers(): Iterable<Breaker>
}

export const BREAKER_STATES = ['closed', 'open', 'half_open'] as const

interface Breaker {
  readonly provider: string
  /** `half_open`: the rest is over, and one request may try, or is trying. */
  readonly state: (typeof BREAKER_STATES)[number]
}

interface BreakerState {
  readonly provider: string
  readonly breaker: CircuitBreakerPolicy
  /** Since it last succeeded. Before that the breaker need not be asked: it would only count to none. */
  hasFailed: boolean
  /** Not to be called before this, in milliseconds of `now`. */
  openUntil: number
}

/** The longest rest of a target that keeps failing, in first rests. */
const MAX_COOLDOWN_FACTOR = 12

/** Longest rest that a provider may ask for, so that a wrong header does not shut a model off for a day. */
const MAX_COOLDOWN_MS = 60_000

export function createCircuitBreakers(
  settings: BreakerSettings,
  now: () => number = Date.now,
): CircuitBreakers {
  const ofModels = new Map<Model, BreakerState>()
  // Names that are not catalogued come from callers.
  const ofNames = new LRUCache<string, BreakerState>({ max: 10_000 })

  function conditionOf({ provider, model, entry }: Target): BreakerState {
    const name = `${provider}:${model}`
    const known = entry === undefined ? ofNames.get(name) : ofModels.get(entry)
    if (known !== undefined) return known
    const condition = createCondition(provider, settings, now)
    if (entry === undefined) ofNames.set(name, condition)
    else ofModels.set(entry, condition)
    return condition
  }

  return {
    guard(target, call) {
      const condition = conditionOf(target)
      const refuse = (error: unknown) => {
        if (error instanceof BrokenCircuitError) throw unavailable(target, condition.openUntil - now())
        const rest = Math.min(requestedCooldownMs(error), MAX_COOLDOWN_MS)
        condition.openUntil = Math.max(condition.openUntil, now() + rest)
        throw error
      }
      // A test call is on its way: the breaker would have others wait for it, and it may hang.
      if (condition.breaker.state === CircuitState.HalfOpen) return Promise.reject(unavailable(target, 0))
      if (condition.hasFailed) return retry(condition, call).catch(refuse)
      return call().then(
        (value) => (condition.hasFailed ? endRow(condition, value) : value),
        (error) => noteFailure(condition, error).then(() => refuse(error)),
      )
    },
    isUsable(model) {
      const condition = ofModels.get(model)
      if (condition === undefined) return true
      return condition.openUntil <= now() && condition.breaker.state !== CircuitState.HalfOpen
    },
    *breakers() {
      for (const { provider, breaker, openUntil } of [...ofModels.values(), ...ofNames.values()])
        yield { provider, state: stateOf(breaker.state, openUntil > now()) }
    },
  }
}

/** Of a target that was well: the breaker hears of its calls only when one fails. */
async function noteFailure(condition: BreakerState, error: unknown): Promise<void> {
  condition.hasFailed = true
  await condition.breaker.execute(() => Promise.reject(error)).catch(() => undefined)
}

/** A call has succeeded that began before others have failed: those were not in a row. */
async function endRow<Value>(condition: BreakerState, value: Value): Promise<Value> {
  if (condition.breaker.state === CircuitState.Closed) await retry(condition, async () => undefined)
  return value
}

async function retry<Value>(condition: BreakerState, call: () => Promise<Value>): Promise<Value> {
  const value = await condition.breaker.execute(call)
  condition.hasFailed = false
  return value
}

function createCondition(
  provider: string,
  { failures, open_ms }: BreakerSettings,
  now: () => number,
): BreakerState {
  const condition = {
    provider,
    hasFailed: false,
    openUntil: 0,
    breaker: circuitBreaker(handleWhen(isFailure), {
      breaker: new ConsecutiveBreaker(failures),
      halfOpenAfter: new DelegateBackoff(({ attempt }) => {
        const rest = open_ms * Math.min(2 ** (attempt - 1), MAX_COOLDOWN_FACTOR)
        condition.openUntil = now() + rest
        return rest
      }),
    }),
  }
  return condition
}

function stateOf(state: CircuitState, rests: boolean): Breaker['state'] {
  if (state === CircuitState.Closed) return 'closed'
  return state === CircuitState.Open && rests ? 'open' : 'half_open'
}

/** Failures of the provider itself and of our account there; being told to slow down is none. */
function isFailure(error: Error): boolean {
  return GatewayError.isInstance(error) && error.status >= 500
}

/** Milliseconds of rest that the provider asked for; without a budget, the longest: it is filled up by people. */
function requestedCooldownMs(error: unknown): number {
  if (!GatewayError.isInstance(error) || !error.mayFailOver) return 0
  if (error.code === 'provider_quota_exceeded') return MAX_COOLDOWN_MS
  return (error.details.retryAfter ?? 0) * 1000
}

function unavailable({ provider, model }: Target, restMs: number): GatewayError {
  return new GatewayError(
    'model_unavailable',
    `${model} of ${provider} has been failing and is given a rest.`,
    {
      retryAfter: Math.max(Math.ceil(restMs / 1000), 1),
    },
  )
}
