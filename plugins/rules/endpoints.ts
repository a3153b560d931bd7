import type { GatewayContext, GatewayRouter } from '../../core/contract/index.ts'
import { bodyOf } from '../../core/http/read-body.ts'
import { readMoment } from '../../core/moment.ts'
import type { Past } from '../../projections/past.ts'
import { carryOut, type RuleServices } from './carry-out.ts'
import type { Change, OpenDesk, RuleDesk } from './changes.ts'
import { answer, authorOf, expectedRule, ruleIdOf } from './rule-request.ts'

export interface RuleEndpointServices extends RuleServices {
  readonly openDesk: OpenDesk
  readonly past: Past
}

/** List, create, read, update and delete for one kind of rules (interface: "Endpoints"). */
export function addRuleRoutes(router: GatewayRouter, path: string, services: RuleEndpointServices): void {
  const { openDesk, past } = services
  const deskOf = (ctx: GatewayContext) => openDesk(ctx.account.userId)

  /** The desk as it was at the moment that the caller names, else as it is. */
  async function deskAsOf(ctx: GatewayContext): Promise<RuleDesk> {
    const { userId } = ctx.account
    const { as_of } = ctx.query
    if (as_of === undefined) return openDesk(userId)
    const rules = await past.rulesOf(userId, readMoment(as_of, 'as_of'))
    return openDesk(userId, () => rules)
  }

  async function make(ctx: GatewayContext, change: Change): Promise<void> {
    const [outcome] = await carryOut([change], services, ctx.account.userId, authorOf(ctx))
    if (outcome !== undefined) answer(ctx, outcome)
  }

  router.get(path, async (ctx) => {
    const desk = await deskAsOf(ctx)
    ctx.body = { data: desk.list() }
  })
  router.post(path, async (ctx) => {
    await make(ctx, deskOf(ctx).create(bodyOf(ctx)))
    ctx.status = 201
  })
  router.get(`${path}/:id`, async (ctx) => {
    const desk = await deskAsOf(ctx)
    answer(ctx, desk.show(ruleIdOf(ctx)))
  })
  router.patch(`${path}/:id`, async (ctx) => {
    await make(ctx, deskOf(ctx).update(ruleIdOf(ctx), bodyOf(ctx), expectedRule(ctx)))
  })
  router.delete(`${path}/:id`, async (ctx) => {
    await make(ctx, deskOf(ctx).remove(ruleIdOf(ctx), expectedRule(ctx)))
  })
}
