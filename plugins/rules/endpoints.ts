import type { GatewayContext, GatewayRouter } from '../../core/contract/index.ts'
import { jsonBody } from '../../core/http/read-body.ts'
import { parseAsOf } from '../../core/moment.ts'
import type { History } from '../../projections/past.ts'
import { executeRuleChanges, type RuleServices } from './carry-out.ts'
import type { CreateRuleCommands, RuleChange, RuleCommands } from './changes.ts'
import { parseIfMatch, parseRuleId, requestAuthor, sendRule } from './rule-request.ts'

export interface RuleEndpointServices extends RuleServices {
  readonly openDesk: CreateRuleCommands
  readonly past: History
}

/** List, create, read, update and delete for one kind of rules (interface: "Endpoints"). */
export function addRuleRoutes(router: GatewayRouter, path: string, services: RuleEndpointServices): void {
  const { openDesk, past } = services
  const deskOf = (ctx: GatewayContext) => openDesk(ctx.account.userId)

  /** The desk as it was at the moment that the caller names, else as it is. */
  async function deskAsOf(ctx: GatewayContext): Promise<RuleCommands> {
    const { userId } = ctx.account
    const { as_of } = ctx.query
    if (as_of === undefined) return openDesk(userId)
    const rules = await past.rulesOf(userId, parseAsOf(as_of, 'as_of'))
    return openDesk(userId, () => rules)
  }

  async function make(ctx: GatewayContext, change: RuleChange): Promise<void> {
    const [outcome] = await executeRuleChanges([change], services, ctx.account.userId, requestAuthor(ctx))
    if (outcome !== undefined) sendRule(ctx, outcome)
  }

  router.get(path, async (ctx) => {
    const desk = await deskAsOf(ctx)
    ctx.body = { data: desk.list() }
  })
  router.post(path, async (ctx) => {
    await make(ctx, deskOf(ctx).create(jsonBody(ctx)))
    ctx.status = 201
  })
  router.get(`${path}/:id`, async (ctx) => {
    const desk = await deskAsOf(ctx)
    sendRule(ctx, desk.show(parseRuleId(ctx)))
  })
  router.patch(`${path}/:id`, async (ctx) => {
    await make(ctx, deskOf(ctx).update(parseRuleId(ctx), jsonBody(ctx), parseIfMatch(ctx)))
  })
  router.delete(`${path}/:id`, async (ctx) => {
    await make(ctx, deskOf(ctx).remove(parseRuleId(ctx), parseIfMatch(ctx)))
  })
}
