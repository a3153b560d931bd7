import { LRUCache } from 'lru-cache'
import { GatewayError, type Model, type Target } from '../../core/contract/index.ts'

interface BreakerSettings {
  /** Consecutive failures that open a circuit. */
  readonly failures: number
  /** First cooldown of an open circuit, in milliseconds. Each failed probe doubles it, up to 12 times. */
  readonly open_ms: number
}

/** The circuit breakers of all targets, one per provider and model (docs/routing.md, "Circuit breakers"). */
export interface CircuitBreakers {
  /**
   * Makes a call through the target's circuit breaker. While the circuit is open, rejects with
   * `model_unavailable` without making the call.
   */
  guard<Value>(target: Target, call: () => Promise<Value>): Promise<Value>
  /**
   * False while automatic routing must not choose the model: circuit open, or `retry-after` of its provider.
   */
  isUsable(model: Model): boolean
  /** The breakers of all targets called so far, including those without a row in the catalogue. */
  breakers(): Iterable<Breaker>
}

export const BREAKER_STATES = ['closed', 'open', 'half_open'] as const

interface Breaker {
  readonly provider: string
  /** `half_open`: the cooldown is over, and one request may probe the target, or is probing it. */
  readonly state: (typeof BREAKER_STATES)[number]
}

/** Limits the names of models that are not in the catalogue, since these come from callers. */
const MAX_UNCATALOGUED = 10_000

/** Creates the circuit breakers. `now` returns the time in milliseconds. */
export function createCircuitBreakers(
  settings: BreakerSettings,
  now: () => number = Date.now,
): CircuitBreakers {
  const byModel = new Map<Model, CircuitBreaker>()
  const byName = new LRUCache<string, CircuitBreaker>({ max: MAX_UNCATALOGUED })

  function breakerOf({ provider, model, entry }: Target): CircuitBreaker {
    const name = `${provider}:${model}`
    const known = entry === undefined ? byName.get(name) : byModel.get(entry)
    if (known !== undefined) return known
    const breaker = new CircuitBreaker(provider, settings, now)
    if (entry === undefined) byName.set(name, breaker)
    else byModel.set(entry, breaker)
    return breaker
  }

  return {
    guard: (target, call) => breakerOf(target).guard(target, call),
    isUsable: (model) => byModel.get(model)?.isUsable ?? true,
    *breakers() {
      yield* byModel.values()
      yield* byName.values()
    },
  }
}

/** The longest cooldown of a target that keeps failing, as a multiple of the first one. */
const MAX_COOLDOWN_FACTOR = 12

/**
 * The circuit of one target. It judges how calls begin: see docs/decisions/routing.md, "A stream that fails
 * midway does not open the circuit".
 */
class CircuitBreaker implements Breaker {
  readonly provider: string
  readonly #settings: BreakerSettings
  readonly #now: () => number
  #circuit: Breaker['state'] = 'closed'
  #consecutiveFailures = 0
  /** How often the circuit has opened since it was last closed. */
  #cooldowns = 0
  /** When an open circuit lets a probe through. */
  #openUntil = 0
  /** When automatic routing may choose the target again: `#openUntil`, or later by a `retry-after`. */
  #usableFrom = 0

  constructor(provider: string, settings: BreakerSettings, now: () => number) {
    this.provider = provider
    this.#settings = settings
    this.#now = now
  }

  get state(): Breaker['state'] {
    return this.#circuit === 'open' && this.#usableFrom <= this.#now() ? 'half_open' : this.#circuit
  }

  get isUsable(): boolean {
    return this.#circuit !== 'half_open' && this.#usableFrom <= this.#now()
  }

  async guard<Value>(target: Target, call: () => Promise<Value>): Promise<Value> {
    const isProbe = this.#circuit !== 'closed'
    if (isProbe) this.#startProbe(target)
    try {
      const value = await call()
      this.#onSuccess(isProbe)
      return value
    } catch (error) {
      this.#onError(error, isProbe)
      throw error
    }
  }

  /**
   * Only one request probes the target. The others are rejected rather than queued, since the probe may hang.
   */
  #startProbe(target: Target): void {
    if (this.#circuit === 'half_open') throw unavailableError(target, 0)
    const now = this.#now()
    if (now < this.#openUntil) throw unavailableError(target, this.#usableFrom - now)
    this.#circuit = 'half_open'
  }

  /** While the circuit is not closed, the results of calls that began earlier do not close it. */
  #onSuccess(isProbe: boolean): void {
    if (this.#circuit === 'half_open' && isProbe) this.#close()
    if (this.#circuit === 'closed') this.#consecutiveFailures = 0
  }

  #onError(error: unknown, isProbe: boolean): void {
    if (isFailure(error)) {
      this.#consecutiveFailures++
      const isLimitReached = this.#consecutiveFailures >= this.#settings.failures
      if (this.#circuit === 'half_open' || (this.#circuit === 'closed' && isLimitReached)) this.#open()
    } else if (this.#circuit === 'half_open' && isProbe) {
      // The failures stay counted: the next one opens the circuit again.
      this.#close()
    }
    this.#usableFrom = Math.max(this.#usableFrom, this.#now() + requestedCooldownMs(error))
  }

  #open(): void {
    const cooldownMs = this.#settings.open_ms * Math.min(2 ** this.#cooldowns, MAX_COOLDOWN_FACTOR)
    this.#cooldowns++
    this.#circuit = 'open'
    this.#openUntil = this.#now() + cooldownMs
    this.#usableFrom = Math.max(this.#usableFrom, this.#openUntil)
  }

  #close(): void {
    this.#circuit = 'closed'
    this.#cooldowns = 0
  }
}

/** True for failures of the provider and of the gateway's account there; rate limits (429) do not count. */
function isFailure(error: unknown): boolean {
  return GatewayError.isInstance(error) && error.status >= 500
}

/**
 * Limits the cooldown that a provider may ask for, so that a wrong header does not disable a model for a day.
 */
const MAX_REQUESTED_COOLDOWN_MS = 60_000

/**
 * Milliseconds for which the provider asked not to be called; 0 if it did not. The maximum if the quota is
 * used up, because an operator has to raise it.
 */
function requestedCooldownMs(error: unknown): number {
  if (!GatewayError.isInstance(error) || !error.mayFailOver) return 0
  if (error.code === 'provider_quota_exceeded') return MAX_REQUESTED_COOLDOWN_MS
  return Math.min((error.details.retryAfter ?? 0) * 1000, MAX_REQUESTED_COOLDOWN_MS)
}

function unavailableError({ provider, model }: Target, waitMs: number): GatewayError {
  const message = `${provider}/${model} is temporarily unavailable (circuit open).`
  return new GatewayError('model_unavailable', message, { retryAfter: Math.max(Math.ceil(waitMs / 1000), 1) })
}
