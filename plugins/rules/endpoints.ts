import { type GatewayContext, GatewayError, type GatewayRouter } from '../../core/contract/index.ts'
import { bodyOf } from '../../core/http/read-body.ts'
import { carryOut, type RuleServices } from './carry-out.ts'
import type { Change, ExpectedRule, OpenDesk, Outcome } from './changes.ts'

/** List, create, read, update and delete for one kind of rules (interface: "Endpoints"). */
export function addRuleRoutes(
  router: GatewayRouter,
  path: string,
  openDesk: OpenDesk,
  services: RuleServices,
): void {
  const deskOf = (ctx: GatewayContext) => openDesk(ctx.account.userId)

  async function make(ctx: GatewayContext, change: Change): Promise<void> {
    const [outcome] = await carryOut([change], services, ctx.account.userId, authorOf(ctx))
    if (outcome !== undefined) answer(ctx, outcome)
  }

  router.get(path, async (ctx) => {
    ctx.body = { data: deskOf(ctx).list() }
  })
  router.post(path, async (ctx) => {
    await make(ctx, deskOf(ctx).create(bodyOf(ctx)))
    ctx.status = 201
  })
  router.get(`${path}/:id`, async (ctx) => {
    answer(ctx, deskOf(ctx).show(ruleIdOf(ctx)))
  })
  router.patch(`${path}/:id`, async (ctx) => {
    await make(ctx, deskOf(ctx).update(ruleIdOf(ctx), bodyOf(ctx), expectedRule(ctx)))
  })
  router.delete(`${path}/:id`, async (ctx) => {
    await make(ctx, deskOf(ctx).remove(ruleIdOf(ctx), expectedRule(ctx)))
  })
}

/** Who makes a change by HTTP. */
export function authorOf(ctx: GatewayContext) {
  return { actor: ctx.account.keyId, requestId: ctx.requestId }
}

function answer(ctx: GatewayContext, outcome: Outcome): void {
  if (outcome.type === 'removed') {
    ctx.body = { success: true }
    return
  }
  const { shown, revision, warnings } = outcome
  ctx.set('etag', `"${revision}"`)
  ctx.body = { data: shown, ...(warnings.length > 0 && { warnings }) }
}

/** The id in the path; 0, which no rule has, for anything but digits. */
function ruleIdOf(ctx: GatewayContext & { params: { id?: string } }): number {
  const id = ctx.params.id ?? ''
  return /^\d{1,15}$/.test(id) ? Number(id) : 0
}

/** `If-Match` with the ETag of the rule that the caller read; optional. */
function expectedRule(ctx: GatewayContext): ExpectedRule {
  const header = ctx.headers['if-match']
  if (header === undefined || header.trim() === '*') return 'any'
  const revision = header.match(/^\s*(?:W\/)?"(\d+)"\s*$/)?.[1]
  if (revision === undefined) {
    throw new GatewayError('revision_mismatch', 'If-Match must be the ETag of the rule, such as "3", or *.')
  }
  return Number(revision)
}
