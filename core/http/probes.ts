import type { GatewayRouter } from '../contract/index.ts'

interface Readiness {
  readonly whyNotReady: () => string | undefined
  /** Whether the event log is followed or away; while it is away, the process goes on serving what it knows. */
  readonly logState: () => string
}

/** `/healthz`: the process answers. `/readyz`: it may be sent traffic; 503 with the reason when not. */
export function addProbeRoutes(router: GatewayRouter, { whyNotReady, logState }: Readiness): void {
  router.get('/healthz', async (ctx) => {
    ctx.body = { status: 'ok' }
  })
  router.get('/readyz', async (ctx) => {
    const reason = whyNotReady()
    const status = reason === undefined ? { status: 'ready' } : { status: 'not ready', reason }
    ctx.status = reason === undefined ? 200 : 503
    ctx.body = { ...status, event_log: logState() }
  })
}
