import { Gauge } from 'prom-client'
import { definePlugin, optional, type Static, StrictObject, Type } from '../../core/contract/index.ts'
import { ProcessServices } from '../../core/pipeline/process-services.ts'
import { billedTarget } from '../../core/pipeline/usage-recorder.ts'
import { isCost } from '../../core/prices/cost.ts'
import { createCounter } from '../../core/util/metrics.ts'
import { GatewayState } from '../../projections/state.ts'
import { CircuitBreakers } from '../../providers/shared/circuit.ts'
import { Providers } from '../../providers/shared/providers.ts'
import { Budgets } from '../budget/index.ts'
import {
  createCallProvider,
  Deployments,
  type DispatchServices,
  dispatchExchange,
} from '../dispatch/index.ts'
import { CopyTarget, Ledger } from '../ledger/index.ts'
import { RoutingCatalog } from '../routing/index.ts'
import { createShadowAction } from './action.ts'
import { COPY_OUTCOMES, type CopyOutcome, ShadowCopies } from './copies.ts'
import { setShadow } from './find-target.ts'

const shadowOptions = StrictObject({
  max_concurrent: Type.Integer({
    minimum: 1,
    maximum: 1000,
    default: 16,
    description: 'Copies in flight per process. Further ones are dropped.',
  }),
})

/** What becomes of a copy must not affect the routing of requests. */
const UNOBSERVED: Pick<DispatchServices, 'circuitBreakers' | 'latency'> = {
  circuitBreakers: { enter: () => ({ succeed: () => undefined, fail: () => undefined }) },
  latency: {
    recordFirstEvent: () => undefined,
    recordRemainder: () => undefined,
    recordWholeReply: () => undefined,
  },
}

/** Sends copies of answered requests to other models, for a comparison (docs/guides/rules.md, "Shadows"). */
export default definePlugin({
  name: 'shadow',
  after: ['routing', 'dispatch'],
  options: shadowOptions,
  replay: { type: 'pure' },
  uses: {
    catalog: RoutingCatalog,
    breakers: CircuitBreakers,
    providers: Providers,
    state: GatewayState,
    process: ProcessServices,
    ledger: Ledger,
    budgets: optional(Budgets),
    deployments: optional(Deployments),
  },
  setup({ max_concurrent }: Static<typeof shadowOptions>, { use, costOf, logger, metrics }) {
    const { catalog: routingCatalog, breakers, ledger, budgets } = use
    const callProvider = createCallProvider({ providers: use.providers.byId, ...UNOBSERVED })
    const outcomes = createCounter(metrics, {
      name: 'signalbox_shadow_copies_total',
      help: 'Copies of requests for other models, by outcome.',
      labelNames: ['outcome'],
    })
    for (const outcome of COPY_OUTCOMES) outcomes(outcome)
    const cost = createCounter(metrics, {
      name: 'signalbox_shadow_cost_usd_total',
      help: 'Cost of copies of requests for other models, in US dollars.',
      labelNames: ['provider', 'model'],
    })
    const copies = new ShadowCopies({
      dispatch: (exchange, route) => dispatchExchange(exchange, route, callProvider, false, use.deployments),
      isUsable: ({ entry }, userId) => entry === undefined || breakers.isUsable(entry, userId),
      ledger,
      budgets,
      requests: use.process.requests,
      maxConcurrent: max_concurrent,
      count: (outcome: CopyOutcome) => outcomes(outcome).inc(),
      countCost(exchange) {
        const { costUsd } = exchange
        const target = billedTarget(exchange)
        if (isCost(costUsd) && target !== undefined)
          cost(target.provider, target.entry?.id ?? 'other').inc(costUsd)
      },
      costOf,
      logger,
    })
    new Gauge({
      name: 'signalbox_shadow_copies_in_flight',
      help: 'Copies of requests that have not ended.',
      registers: [metrics],
      collect() {
        this.set(copies.inFlight)
      },
    })
    return {
      actions: [createShadowAction(routingCatalog.catalog, use.state.logId)],
      decide: (exchange) => setShadow(exchange, routingCatalog),
      observe({ exchange, error, isAborted }) {
        const shadow = exchange && CopyTarget.of(exchange)
        if (exchange === undefined || shadow === undefined || error !== undefined || isAborted) return
        const { target, attempts } = exchange
        // Only what a provider has just answered can be compared, and not with itself.
        if (attempts.at(-1)?.outcome !== 'ok' || target?.entry === shadow.entry) return
        copies.send(exchange, shadow)
      },
    }
  },
})
