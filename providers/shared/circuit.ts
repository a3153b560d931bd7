import { type Model, service, type Target } from '../../core/contract/index.ts'
import { createBoundedCache } from '../../core/util/bounded-cache.ts'
import {
  type BreakerCall,
  type BreakerSettings,
  type CallerRecord,
  type CircuitState,
  ModelBreaker,
} from './model-breaker.ts'

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
