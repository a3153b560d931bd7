import Koa from 'koa'
import type { Registry } from 'prom-client'
import { type Listener, serve } from '../../core/http/serve.ts'

/** Answers with all metrics in Prometheus' text format. */
export async function answerMetrics(metrics: Registry, ctx: { body: unknown; type: string }): Promise<void> {
  ctx.body = await metrics.metrics()
  ctx.type = metrics.contentType
}

/** Serves `/metrics` on a port of its own, to everybody who can reach it. */
export function serveMetrics(metrics: Registry, host: string, port: number): Promise<Listener> {
  const app = new Koa()
  app.use(async (ctx) => {
    if (ctx.path === '/metrics') await answerMetrics(metrics, ctx)
  })
  return serve(app, host, port)
}
