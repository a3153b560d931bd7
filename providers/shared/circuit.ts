import { type Model, service, type Target } from '../../core/contract/index.ts'
import { createBoundedCache } from '../../core/util/bounded-cache.ts'
import { type BreakerCall, type BreakerSettings, type CallerRecord, ModelBreaker } from './model-breaker.ts'

export const CIRCUIT_STATES = ['closed', 'open', 'half_open'] as const

/** `half_open`: the cooldown is over, and one request may probe the target, or is probing it. */
export type CircuitState = (typeof CIRCUIT_STATES)[number]

/** The longest cooldown of a target that keeps failing, as a multiple of the first one. */
const MAX_COOLDOWN_FACTOR = 12

/** A request that was let through an open circuit, to find out whether the target works again. */
export interface Probe {
  readonly caller: number
}

/** Callers whose failed probes lengthen the cooldown of others: enough for the longest one. */
const MAX_FAILED_PROBERS = 4

/** The state of one circuit. Times are in milliseconds, of any clock. */
export class Circuit {
  readonly #cooldownMs: number
  #isClosed = true
  /** When the next probe may start. */
  #openUntil = 0
  /** The same for callers whose probe has failed. */
  #openUntilAgain = 0
  #probe: Probe | undefined
  /** Since the circuit was last closed. */
  #failedProbes = 0
  readonly #failedProbers = new Set<number>()

  constructor(cooldownMs: number) {
    this.#cooldownMs = cooldownMs
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  state(now: number): CircuitState {
    if (this.#isClosed) return 'closed'
    return this.#probe !== undefined || this.#openUntil <= now ? 'half_open' : 'open'
  }

  /** The time after which a request of the caller may be let through; 0 if it may be now. */
  waitMs(caller: number, now: number): number {
    if (this.#isClosed) return 0
    const openUntil = this.#failedProbers.has(caller) ? this.#openUntilAgain : this.#openUntil
    return Math.max(openUntil - now, 0)
  }

  /**
   * Makes a request of the caller the probe; returns undefined if the circuit is closed. A probe that takes
   * longer than the first cooldown no longer holds up others.
   */
  startProbe(caller: number, now: number): Probe | undefined {
    if (this.#isClosed) return undefined
    this.#probe = { caller }
    this.#openUntil = now + this.#cooldownMs
    this.#openUntilAgain = this.#openUntil
    return this.#probe
  }

  /** Opens a closed circuit. */
  open(now: number): void {
    if (!this.#isClosed) return
    this.#isClosed = false
    this.#startCooldown(now)
  }

  close(): void {
    this.#isClosed = true
    this.#probe = undefined
    this.#failedProbes = 0
    this.#failedProbers.clear()
  }

  /** Starts the next cooldown. */
  failProbe(probe: Probe, now: number): void {
    if (probe !== this.#probe) return
    this.#probe = undefined
    this.#failedProbes++
    if (this.#failedProbers.size < MAX_FAILED_PROBERS) this.#failedProbers.add(probe.caller)
    this.#startCooldown(now)
  }

  /** Lets the next request probe, because this one ended without a result. */
  releaseProbe(probe: Probe, now: number): void {
    if (probe !== this.#probe) return
    this.#probe = undefined
    this.#openUntil = now
    this.#openUntilAgain = now
  }

  /**
   * Each failed probe doubles the cooldown. For other callers only probes of different callers count:
   * otherwise one whose requests always fail could keep the circuit open for everybody.
   */
  #startCooldown(now: number): void {
    this.#openUntil = now + this.#cooldownAfter(this.#failedProbers.size)
    this.#openUntilAgain = now + this.#cooldownAfter(this.#failedProbes)
  }

  #cooldownAfter(failedProbes: number): number {
    return this.#cooldownMs * Math.min(2 ** failedProbes, MAX_COOLDOWN_FACTOR)
  }
}

/**
 * The circuit breakers of all targets, one per provider and model (docs/guides/failover.md, "Circuit
 * breakers").
 */
export interface CircuitBreakers {
  /**
   * Makes a call through the target's circuit breaker. While the circuit is open, for all callers or for this
   * one, rejects with `model_unavailable` without making the call. Retries are always sent: see
   * docs/decisions/routing.md, "The retry of a failed request passes an open circuit".
   */
  guard<Value>(target: Target, by: BreakerCall, call: () => Promise<Value>): Promise<Value>
  /**
   * False while automatic routing must not choose the model for the caller: circuit open, or `retry-after` of
   * its provider.
   */
  isUsable(model: Model, caller: number): boolean
  /** The circuits of all targets called so far, including those without a row in the catalogue. */
  circuits(): Iterable<CircuitInfo>
  /** The circuits that are not closed for a single caller. */
  callerCircuits(): Iterable<CircuitInfo>
}

export const CircuitBreakers = service<CircuitBreakers>('circuit-breakers')

interface CircuitInfo {
  readonly provider: string
  readonly model: string
  readonly state: CircuitState
}

/** Limits the callers with failed requests, over all models; the others take no memory. */
const MAX_CALLER_RECORDS = 10_000

/** Limits the names of models that are not in the catalogue, since these come from callers. */
const MAX_UNCATALOGUED = 10_000

/** Creates the circuit breakers. `now` returns the time in milliseconds, of any clock. */
export function createCircuitBreakers(
  settings: BreakerSettings,
  now: () => number = () => performance.now(),
): CircuitBreakers {
  const byModel = new Map<Model, ModelBreaker>()
  const byName = createBoundedCache<string, ModelBreaker>(MAX_UNCATALOGUED)
  const records = createBoundedCache<CallerRecord, ModelBreaker>(MAX_CALLER_RECORDS, (breaker, record) =>
    breaker.forget(record),
  )

  function breakerOf({ provider, model, entry }: Target): ModelBreaker {
    const name = `${provider}:${model}`
    const known = entry === undefined ? byName.get(name) : byModel.get(entry)
    if (known !== undefined) return known
    const breaker = new ModelBreaker({ provider, model }, settings, now, records)
    if (entry === undefined) byName.set(name, breaker)
    else byModel.set(entry, breaker)
    return breaker
  }

  return {
    guard: (target, by, call) => breakerOf(target).guard(target, by, call),
    isUsable: (model, caller) => byModel.get(model)?.isUsable(caller) ?? true,
    *circuits() {
      yield* byModel.values()
      yield* byName.values()
    },
    *callerCircuits() {
      for (const [{ circuit }, { provider, model }] of records.entries())
        if (!circuit.isClosed) yield { provider, model, state: circuit.state(now()) }
    },
  }
}
