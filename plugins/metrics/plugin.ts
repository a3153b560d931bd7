import { collectDefaultMetrics } from 'prom-client'
import { definePlugin, endpoint, operator, service } from '../../core/contract/index.ts'
import { GatewayState } from '../../projections/state.ts'
import { CircuitBreakers } from '../../providers/shared/circuit.ts'
import { Providers } from '../../providers/shared/providers.ts'
import { observeCosts, observeGroupCosts } from './cost-metrics.ts'
import { type MetricsPage, serveMetrics } from './endpoint.ts'
import { registerEventMetrics } from './event-metrics.ts'
import { observeProviderCalls, registerBreakerMetrics } from './provider-metrics.ts'
import { observeHttpRequests, observeOverhead, observeRuleActions } from './request-metrics.ts'

/** Where metrics are served. The gateway provides it. */
export interface MetricsExposure {
  /**
   * A separate address without authentication, the main address for operators, or nowhere in this process.
   */
  readonly exposedAt: { readonly host: string; readonly port: number } | 'main' | 'none'
  /** Returns the metrics of all processes of a cluster; undefined means that this process serves its own. */
  readonly sharedPage: ((contentType: MetricsPage['contentType']) => MetricsPage) | undefined
}

const Exposure = service<MetricsExposure>('metrics.exposure')

/**
 * Collects the metrics of the gateway and serves them at `/metrics` in Prometheus' format. Other plugins
 * register their metrics with `host.metrics`.
 */
export default definePlugin({
  name: 'metrics',
  uses: { state: GatewayState, breakers: CircuitBreakers, providers: Providers, exposure: Exposure },
  async setup(_, { use, metrics, operators, logger }) {
    const { subscription, damagedFiles, evidence, groups } = use.state
    const { known: providers } = use.providers
    const { exposedAt, sharedPage } = use.exposure
    collectDefaultMetrics({ register: metrics })
    registerBreakerMetrics(metrics, use.breakers, providers)
    registerEventMetrics(metrics, subscription, damagedFiles, evidence)
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
})

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
