import type { GatewayRouter } from '../contract/index.ts'

interface Readiness {
  /** Returns why the process must not receive traffic; undefined if it may. */
  readonly whyNotReady: () => string | undefined
  /**
   * State of the subscription to the event log. Reported only: while the log is unavailable, the process
   * keeps serving from its projections.
   */
  readonly logState: () => string
}

/**
 * Adds `/healthz` (liveness: always 200) and `/readyz` (readiness: 503 with the reason if the process must
 * not receive traffic). See docs/decisions/event-log.md, "A node stays ready while the event log is
 * unavailable".
 */
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
