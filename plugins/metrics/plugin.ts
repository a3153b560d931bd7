import { collectDefaultMetrics } from 'prom-client'
import { endpoint, operator, type Plugin } from '../../core/contract/index.ts'
import type { Groups } from '../../projections/groups.ts'
import type { Subscription } from '../../projections/runtime/subscribe.ts'
import type { Evidence } from '../../projections/transparency/evidence.ts'
import type { CircuitBreakers } from '../../providers/shared/breaker.ts'
import { observeCosts, observeGroupCosts } from './cost-metrics.ts'
import { type MetricsPage, serveMetrics } from './endpoint.ts'
import { registerEventMetrics } from './event-metrics.ts'
import { observeProviderCalls, registerBreakerMetrics } from './provider-metrics.ts'
import { observeHttpRequests, observeOverhead, observeRuleActions } from './request-metrics.ts'

interface MetricsServices {
  readonly live: Subscription
  readonly damagedFiles: () => Promise<readonly string[]>
  readonly evidence: Pick<Evidence, 'contradiction'>
  readonly health: CircuitBreakers
  /** All providers that rules and model prefixes can name. */
  readonly providers: ReadonlySet<string>
  readonly groups: Pick<Groups, 'groupsOf'>
  /**
   * A separate address without authentication, the main address for operators, or nowhere in this process.
   */
  readonly exposedAt: { readonly host: string; readonly port: number } | 'main' | 'none'
  /** Returns the metrics of all processes of a cluster; undefined means that this process serves its own. */
  readonly sharedPage: ((contentType: MetricsPage['contentType']) => MetricsPage) | undefined
}

/**
 * Collects the metrics of the gateway and serves them at `/metrics` in Prometheus' format. Other plugins
 * register their metrics with `host.metrics`.
 */
export function createMetrics(services: MetricsServices): Plugin {
  const { live, damagedFiles, evidence, health, providers, groups, exposedAt, sharedPage } = services
  return {
    name: 'metrics',
    async setup(_, { metrics, operators, logger }) {
      collectDefaultMetrics({ register: metrics })
      registerBreakerMetrics(metrics, health, providers)
      registerEventMetrics(metrics, live, damagedFiles, evidence)
      const observers = [
        observeHttpRequests(metrics),
        observeOverhead(metrics),
        observeProviderCalls(metrics, providers),
        observeCosts(metrics, providers),
        observeGroupCosts(metrics, groups),
        observeRuleActions(metrics, operators),
      ]
      const page = sharedPage?.(metrics.contentType) ?? metrics
      const listener =
        typeof exposedAt === 'object' ? await serveMetrics(page, exposedAt.host, exposedAt.port) : undefined
      if (listener) logger.info({ url: `${listener.url}/metrics` }, 'metrics endpoint listening')
      return {
        observe(request) {
          for (const observe of observers) observe(request)
        },
        ...(exposedAt === 'main' && { endpoints: [createMetricsEndpoint(page)] }),
        async close() {
          await listener?.stop(0)
        },
      }
    },
  }
}

function createMetricsEndpoint(page: MetricsPage) {
  return endpoint({
    method: 'GET',
    path: '/metrics',
    access: operator('auditor'),
    operationId: 'readMetrics',
    summary: "Returns all metrics in Prometheus' text format.",
    tags: ['operation'],
    responses: { 200: { description: 'The metrics.', text: 'text/plain' } },
    async handle() {
      const body = await page.metrics()
      return { status: 200, headers: { 'content-type': page.contentType }, body }
    },
  })
}
