import {
  definePlugin,
  type Exchange,
  GatewayError,
  type Plan,
  type Route,
  settingsOf,
  type Target,
} from '../../core/contract/index.ts'
import { HeldReservations } from '../../core/shared-state/held-reservations.ts'
import { SharedState } from '../../core/shared-state/shared-state.ts'
import { CircuitBreakers } from '../../providers/shared/circuit.ts'
import type { DeploymentLimits } from '../../providers/shared/deployments.ts'
import { LatencyTracker } from '../../providers/shared/latency.ts'
import { Providers } from '../../providers/shared/providers.ts'
import { chatDialect } from './chat/dialect.ts'
import { completionsDialect } from './completions.ts'
import { createDeployments, Deployments } from './deployments.ts'
import { routeDialect } from './direct-route.ts'
import { createCallProvider, dispatchExchange, restrictRoute } from './dispatch.ts'
import { embeddingsDialect } from './embeddings.ts'
import { moderationsDialect } from './moderations.ts'

interface FailoverSettings {
  /** Whether requests that were not answered are sent again, unless their header says otherwise. */
  readonly on_timeout: boolean
}

type ProviderSettings = Readonly<Record<string, { readonly deployments?: readonly DeploymentLimits[] }>>

interface LimitSettings {
  /** By plan: whether requests that cannot be counted are sent. */
  readonly on_redis_failure: Readonly<Record<Plan, 'allow' | 'refuse'>>
}

/**
 * Serves OpenAI's endpoints that one call of a model answers, and `POST /route`. Sends the requests of all
 * inference endpoints to the targets that routing chose, or to the model that they name if no plugin has set
 * a route, and sets the reply of the exchange.
 */
export default definePlugin({
  name: 'dispatch',
  after: ['auth'],
  replay: { type: 'pure' },
  uses: {
    providers: Providers,
    breakers: CircuitBreakers,
    latency: LatencyTracker,
    failover: settingsOf<FailoverSettings>('failover'),
    rows: settingsOf<ProviderSettings>('providers'),
    limits: settingsOf<LimitSettings>('rate_limits'),
    shared: SharedState,
  },
  provides: [Deployments],
  async setup(_, { use: { providers, breakers, latency, failover, rows, limits, shared }, provide }) {
    const reservations = hasLimits(rows)
      ? new HeldReservations(shared.reservations('deployments'))
      : undefined
    await reservations?.start()
    const deployments = createDeployments({
      providers: providers.byId,
      circuitBreakers: breakers,
      reservations,
      isSentUncounted: ({ account }) => limits.on_redis_failure[account.plan] === 'allow',
    })
    provide(Deployments, deployments)
    const callProvider = createCallProvider({ providers: providers.byId, circuitBreakers: breakers, latency })
    return {
      dialects: {
        '/v1/chat/completions': chatDialect,
        '/v1/completions': completionsDialect,
        '/v1/embeddings': embeddingsDialect,
        '/v1/moderations': moderationsDialect,
        '/route': routeDialect,
      },
      decide(exchange) {
        // An invalid header is refused before a provider is called.
        parseRetryHeader(exchange)
        const route = exchange.route ?? createDirectRoute(exchange, providers)
        exchange.route = restrictRoute(route, exchange.requires, providers.byId)
      },
      reply(exchange) {
        if (exchange.route === undefined)
          throw new GatewayError('internal_error', 'A plugin has removed the route of the request.')
        const retriesOnTimeout = parseRetryHeader(exchange) ?? failover.on_timeout
        const route = restrictRoute(exchange.route, exchange.requires, providers.byId)
        return dispatchExchange(exchange, route, callProvider, retriesOnTimeout, deployments)
      },
      async close() {
        await reservations?.close()
      },
    }
  },
})

function hasLimits(rows: ProviderSettings): boolean {
  const all = Object.values(rows).flatMap(({ deployments = [] }) => deployments)
  return all.some(
    ({ requests_per_minute, tokens_per_minute, max_concurrent }) =>
      (requests_per_minute ?? tokens_per_minute ?? max_concurrent) !== undefined,
  )
}

/** Returns the route to the model that a request names, as `provider/model` or as in the catalogue. */
function createDirectRoute({ request }: Exchange, { byId, catalog }: Providers): Route {
  const { model = '' } = request
  const [, prefix = '', rest = ''] = /^([^/]+)\/(.+)$/.exec(model) ?? []
  const isPrefixed = byId.has(prefix)
  const entry = isPrefixed ? catalog.find(rest, prefix) : catalog.find(model)
  const provider = isPrefixed ? prefix : entry?.provider
  if (provider === undefined || !byId.has(provider)) {
    const message = `Model ${model} was not found. Name a model of the catalogue, or provider/model.`
    throw new GatewayError('model_not_found', message, { param: 'model' })
  }
  const target: Target = { provider, model: entry?.id ?? rest, ...(entry && { entry }) }
  return {
    mode: 'balance',
    targets: [target],
    isFixed: true,
    candidates: () => [],
    reason: `The request names the model: ${target.provider}/${target.model}.`,
    score: 1,
  }
}

const RETRY_HEADER = 'x-retry-on-timeout'

/** Returns what the caller wants; undefined without the header. Throws 400 if it is invalid. */
function parseRetryHeader({ headers }: Pick<Exchange, 'headers'>): boolean | undefined {
  const value = headers[RETRY_HEADER]
  if (value === undefined) return undefined
  if (value === 'true' || value === 'false') return value === 'true'
  const message = `The header ${RETRY_HEADER} must be "true" or "false". Correct or omit it.`
  throw new GatewayError('invalid_value', message, { param: RETRY_HEADER })
}
