import { collectDefaultMetrics } from 'prom-client'
import type { GatewayMiddleware, Plugin } from '../../core/contract/index.ts'
import type { Live } from '../../projections/live.ts'
import type { Health } from '../../providers/health.ts'
import { metricsPaths } from '../openapi/probes.ts'
import { showBreakers } from './breakers.ts'
import { answerMetrics, serveMetrics } from './endpoint.ts'
import { showEvents } from './events.ts'
import { observeHttpRequests } from './http-requests.ts'
import { observeOverhead } from './overhead.ts'
import { observeRuleOutcomes } from './rule-outcomes.ts'
import { observeVendorCalls } from './vendor-calls.ts'

export interface MetricsServices {
  readonly live: Live
  readonly health: Health
  /** Every provider that may be named in a rule or as a prefix. */
  readonly providers: ReadonlySet<string>
  readonly adminGuard: GatewayMiddleware | undefined
  /** An address of their own; without it the metrics are on the main address, for the bearer of the admin key. */
  readonly address: { readonly host: string; readonly port: number } | undefined
}

/** `/metrics` for Prometheus; docs/metrics.md has the list. Other plugins register theirs with `host.metrics`. */
export function createMetrics(services: MetricsServices): Plugin {
  const { live, health, providers, adminGuard, address } = services
  return {
    name: 'metrics',
    async setup(_, { metrics, vocabulary, logger }) {
      collectDefaultMetrics({ register: metrics })
      showBreakers(metrics, health, providers)
      showEvents(metrics, live)
      const observers = [
        observeHttpRequests(metrics),
        observeOverhead(metrics),
        observeVendorCalls(metrics, providers),
        observeRuleOutcomes(metrics, vocabulary),
      ]
      const listener = address && (await serveMetrics(metrics, address.host, address.port))
      if (listener) logger.info({ url: `${listener.url}/metrics` }, 'metrics have an address of their own')
      const isOnMain = listener === undefined && adminGuard !== undefined
      return {
        observeRequest(request) {
          for (const observe of observers) observe(request)
        },
        ...(isOnMain && { openapi: metricsPaths }),
        openRoutes(router) {
          if (isOnMain) router.get('/metrics', adminGuard, (ctx) => answerMetrics(metrics, ctx))
        },
        async close() {
          await listener?.stop(0)
        },
      }
    },
  }
}
