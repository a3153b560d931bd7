import { type Model, service, type Target } from '../../core/contract/index.ts'
import { createBoundedCache } from '../../core/util/bounded-cache.ts'
import {
  type BreakerCall,
  type BreakerSettings,
  type CallerRecord,
  type CircuitState,
  type GuardedCall,
  ModelBreaker,
  type TargetRest,
} from './model-breaker.ts'

/**
 * The circuit breakers of all targets, one per provider, deployment and model (docs/guides/failover.md,
 * "Circuit breakers").
 */
export interface CircuitBreakers {
  /**
   * Makes a call through the target's circuit breaker. While the circuit is open, for all callers or for this
   * one, rejects with `model_unavailable` without making the call. Retries are always sent: see
   * docs/decisions/routing.md, "The retry of a failed request passes an open circuit".
   */
  guard<Value>(target: Target, by: BreakerCall, call: () => Promise<Value>): Promise<Value>
  /** The same for a caller that tells the outcome itself. Throws `model_unavailable`. */
  enter(target: Target, by: BreakerCall): Pick<GuardedCall, 'succeed' | 'fail'>
  /**
   * False while automatic routing must not choose the model for the caller: circuit open, or `retry-after` of
   * its provider. Of a provider with deployments: of all of them.
   */
  isUsable(model: Model, caller: number): boolean
  /** How long a deployment should not be chosen for the caller. */
  rest(target: Target, caller: number): TargetRest
  /** The circuits of all targets called so far, including those without a row in the catalogue. */
  circuits(): Iterable<TargetCircuit>
  /** The circuits that are not closed for a single caller. */
  callerCircuits(): Iterable<CircuitInfo>
}

export const CircuitBreakers = service<CircuitBreakers>('circuit-breakers')

interface CircuitInfo {
  readonly provider: string
  readonly model: string
  readonly deployment?: string | undefined
  readonly state: CircuitState
}

/** The circuit of a target for everybody. */
interface TargetCircuit extends CircuitInfo {
  /** How long the target should not be chosen for the caller. */
  rest(caller: number): TargetRest
}

/** Limits the callers with failed requests, over all models; the others take no memory. */
const MAX_CALLER_RECORDS = 10_000

/** Limits the names of models that are not in the catalogue, since these come from callers. */
const MAX_UNCATALOGUED = 10_000

const NO_REST: TargetRest = { circuitMs: 0, rateLimitMs: 0, failureMs: 0 }

/**
 * Creates the circuit breakers. `now` returns the time in milliseconds, of any clock. `countDeployments`
 * returns how many a provider has.
 */
export function createCircuitBreakers(
  settings: BreakerSettings,
  now: () => number = () => performance.now(),
  countDeployments: (provider: string) => number = () => 0,
): CircuitBreakers {
  const byModel = new Map<Model, ModelBreaker>()
  const byDeployment = new Map<Model, Map<string, ModelBreaker>>()
  const byName = createBoundedCache<string, ModelBreaker>(MAX_UNCATALOGUED)
  const records = createBoundedCache<CallerRecord, ModelBreaker>(MAX_CALLER_RECORDS, (breaker, record) =>
    breaker.forget(record),
  )

  function findBreaker(target: Target): ModelBreaker | undefined {
    const { entry, deployment } = target
    if (entry === undefined) return byName.get(nameOf(target))
    return deployment === undefined ? byModel.get(entry) : byDeployment.get(entry)?.get(deployment)
  }

  function breakerOf(target: Target): ModelBreaker {
    const known = findBreaker(target)
    if (known !== undefined) return known
    const { entry, deployment } = target
    const breaker = new ModelBreaker(target, settings, now, records)
    if (entry === undefined) byName.set(nameOf(target), breaker)
    else if (deployment === undefined) byModel.set(entry, breaker)
    else byDeployment.set(entry, (byDeployment.get(entry) ?? new Map()).set(deployment, breaker))
    return breaker
  }

  function isUsable(model: Model, caller: number): boolean {
    const breakers = byDeployment.get(model)
    if (breakers === undefined) return byModel.get(model)?.isUsable(caller) ?? true
    if (breakers.size < countDeployments(model.provider)) return true
    // Those where a request of the caller has failed are still tried, after the others.
    return [...breakers.values()].some((breaker) => {
      const { circuitMs, rateLimitMs } = breaker.rest(caller)
      return circuitMs === 0 && rateLimitMs === 0
    })
  }

  return {
    enter: (target, by) => breakerOf(target).enter(target, by),
    async guard(target, by, call) {
      const guarded = breakerOf(target).enter(target, by)
      let value: Awaited<ReturnType<typeof call>>
      try {
        value = await call()
      } catch (error) {
        guarded.fail(error)
        throw error
      }
      guarded.succeed()
      return value
    },
    isUsable,
    rest: (target, caller) => findBreaker(target)?.rest(caller) ?? NO_REST,
    *circuits() {
      yield* byModel.values()
      for (const breakers of byDeployment.values()) yield* breakers.values()
      yield* byName.values()
    },
    *callerCircuits() {
      for (const [{ circuit }, { provider, model, deployment }] of records.entries())
        if (!circuit.isClosed) yield { provider, model, deployment, state: circuit.state(now()) }
    },
  }
}

function nameOf({ provider, model, deployment }: Pick<Target, 'provider' | 'model' | 'deployment'>): string {
  return deployment === undefined ? `${provider}:${model}` : `${provider}:${model}#${deployment}`
}
