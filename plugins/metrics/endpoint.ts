import Koa from 'koa'
import type { Registry } from 'prom-client'
import { type Listener, listen } from '../../core/http/server/listen.ts'

/** All metrics in Prometheus' text format: those of a registry, or of several processes. */
export type MetricsPage = Pick<Registry, 'contentType' | 'metrics'>

/** Answers with all metrics. */
export async function respondWithMetrics(
  metrics: MetricsPage,
  ctx: { body: unknown; type: string },
): Promise<void> {
  ctx.body = await metrics.metrics()
  ctx.type = metrics.contentType
}

/** Serves `/metrics` on a port of its own, to everybody who can reach it. */
export function serveMetrics(metrics: MetricsPage, host: string, port: number): Promise<Listener> {
  const app = new Koa()
  app.use(async (ctx) => {
    if (ctx.path === '/metrics') await respondWithMetrics(metrics, ctx)
  })
  return listen(app, host, port)
}
