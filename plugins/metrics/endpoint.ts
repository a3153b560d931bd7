import Koa from 'koa'
import type { Registry } from 'prom-client'
import { type Listener, listen } from '../../core/http/server/hardened-server.ts'

/**
 * A source of metrics in Prometheus' text format: the registry of this process, or the aggregate of a
 * cluster.
 */
export type MetricsPage = Pick<Registry, 'contentType' | 'metrics'>

/** Serves `/metrics` on a separate port, without authentication. */
export function serveMetrics(page: MetricsPage, host: string, port: number): Promise<Listener> {
  const app = new Koa()
  app.use(async (ctx) => {
    if (ctx.path !== '/metrics') return
    ctx.body = await page.metrics()
    ctx.type = page.contentType
  })
  return listen(app, host, port, { portVariable: 'METRICS_PORT' })
}
