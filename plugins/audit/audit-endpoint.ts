import type { GatewayRouter } from '../../core/contract/index.ts'
import { findEntries, readAuditQuery } from './find-entries.ts'
import type { AuditServices } from './services.ts'
import { showEntry } from './show-entry.ts'
import { readAuditEntries } from './trail.ts'

/** `GET /v1/audit`: everything that happened to the caller's rules, keys and plan, newest first. */
export function addAuditRoute(router: GatewayRouter, { past, kinds }: AuditServices): void {
  router.get('/v1/audit', async (ctx) => {
    const query = readAuditQuery(ctx)
    const trail = readAuditEntries(await past.eventsOf(ctx.account.userId), kinds)
    const { entries, next } = findEntries(trail, query)
    ctx.body = { data: entries.map(showEntry), next_cursor: next }
  })
}
