import { collectDefaultMetrics } from 'prom-client'
import type { GatewayMiddleware, Plugin } from '../../core/contract/index.ts'
import type { Subscription } from '../../projections/runtime/subscribe.ts'
import type { CircuitBreakers } from '../../providers/shared/breaker.ts'
import { metricsPaths } from '../openapi/admin.ts'
import { type MetricsPage, respondWithMetrics, serveMetrics } from './endpoint.ts'
import { registerEventMetrics } from './event-metrics.ts'
import { observeProviderCalls, registerBreakerMetrics } from './provider-metrics.ts'
import { observeHttpRequests, observeOverhead, observeRuleOutcomes } from './request-metrics.ts'

interface MetricsServices {
  readonly live: Subscription
  readonly health: CircuitBreakers
  /** Every provider that may be named in a rule or as a prefix. */
  readonly providers: ReadonlySet<string>
  readonly adminGuard: GatewayMiddleware | undefined
  /** An address of their own, the main address for the bearer of the admin key, or no place in this process. */
  readonly exposedAt: { readonly host: string; readonly port: number } | 'main' | 'none'
  /** The metrics of several processes, in place of those of this one. */
  readonly sharedPage: ((contentType: MetricsPage['contentType']) => MetricsPage) | undefined
}

/** `/metrics` for Prometheus; docs/metrics.md has the list. Other plugins register theirs with `host.metrics`. */
export function createMetrics(services: MetricsServices): Plugin {
  const { live, health, providers, adminGuard, exposedAt: place, sharedPage } = services
  return {
    name: 'metrics',
    async setup(_, { metrics, operators, logger }) {
      collectDefaultMetrics({ register: metrics })
      registerBreakerMetrics(metrics, health, providers)
      registerEventMetrics(metrics, live)
      const observers = [
        observeHttpRequests(metrics),
        observeOverhead(metrics),
        observeProviderCalls(metrics, providers),
        observeRuleOutcomes(metrics, operators),
      ]
      const page = sharedPage?.(metrics.contentType) ?? metrics
      const listener =
        typeof place === 'object' ? await serveMetrics(page, place.host, place.port) : undefined
      if (listener) logger.info({ url: `${listener.url}/metrics` }, 'metrics have an address of their own')
      const isOnMain = place === 'main' && adminGuard !== undefined
      return {
        observeRequest(request) {
          for (const observe of observers) observe(request)
        },
        ...(isOnMain && { openapi: metricsPaths }),
        publicRoutes(router) {
          if (isOnMain) router.get('/metrics', adminGuard, (ctx) => respondWithMetrics(page, ctx))
        },
        async close() {
          await listener?.stop(0)
        },
      }
    },
  }
}
