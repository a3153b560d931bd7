import type { GatewayRouter } from '../contract/index.ts'

/** `/healthz`: the process answers. `/readyz`: it may be sent traffic; 503 with the reason when not. */
export function addProbes(router: GatewayRouter, whyNotReady: () => string | undefined): void {
  router.get('/healthz', async (ctx) => {
    ctx.body = { status: 'ok' }
  })
  router.get('/readyz', async (ctx) => {
    const reason = whyNotReady()
    ctx.status = reason === undefined ? 200 : 503
    ctx.body = reason === undefined ? { status: 'ready' } : { status: 'not ready', reason }
  })
}
