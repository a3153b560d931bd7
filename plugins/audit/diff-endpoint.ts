import { GatewayError, type GatewayRouter } from '../../core/contract/index.ts'
import { type AsOf, parseAsOf } from '../../core/moment.ts'
import { foldUser, rulesAt } from '../../projections/past.ts'
import { diffRules } from './diff-rules.ts'
import { readQuery } from './read-query.ts'
import type { AuditServices } from './services.ts'

/** `GET /v1/rules/diff`: what became of the caller's rules from one moment to another, or to now. */
export function addDiffRoute(router: GatewayRouter, { past, kinds }: AuditServices): void {
  /** The rules, and the position of the last event that they and the plan come from. */
  async function lookAt(userId: number, moment: AsOf | undefined) {
    const events = await past.eventsOf(userId, moment)
    const position = events.at(-1)?.record.position ?? 0
    return { position, rules: rulesAt(userId, foldUser(userId, events).book) }
  }

  router.get('/v1/rules/diff', async (ctx) => {
    const { userId } = ctx.account
    const query = readQuery(ctx, ['from', 'to'])
    if (query.from === undefined) {
      throw new GatewayError('missing_parameter', 'from is required.', { param: 'from' })
    }
    const from = await lookAt(userId, parseAsOf(query.from, 'from'))
    const to = await lookAt(userId, query.to === undefined ? undefined : parseAsOf(query.to, 'to'))
    ctx.body = {
      data: { from: from.position, to: to.position, ...diffRules(from.rules, to.rules, kinds) },
    }
  })
}
