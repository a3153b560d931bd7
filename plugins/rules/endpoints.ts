import { type GatewayContext, GatewayError, type GatewayRouter } from '../../core/contract/index.ts'
import { jsonBody } from '../../core/http/read-body.ts'
import { parseAsOf } from '../../core/util/as-of.ts'
import type { History } from '../../projections/history.ts'
import {
  type CreateRuleCommands,
  type ExpectedRuleRevision,
  executeRuleChanges,
  type RuleChange,
  type RuleChangeResult,
  type RuleCommands,
  type RuleServices,
} from './rule-commands.ts'

export interface RuleEndpointServices extends RuleServices {
  readonly createCommands: CreateRuleCommands
  readonly history: History
}

/** List, create, read, update and delete for one kind of rules (docs/api.md, "Chat completions"). */
export function addRuleRoutes(router: GatewayRouter, path: string, services: RuleEndpointServices): void {
  const { createCommands: openDesk, history: past } = services
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

/** A request whose path may hold a rule's id. */
export type RuleContext = GatewayContext & { readonly params: { readonly id?: string } }

/** The id in the path; 0, which no rule has, for anything but digits. */
export function parseRuleId({ params }: RuleContext): number {
  const id = params.id ?? ''
  return /^\d{1,15}$/.test(id) ? Number(id) : 0
}

/** `If-Match` with the ETag of the rule that the caller read; optional. */
export function parseIfMatch(ctx: GatewayContext): ExpectedRuleRevision {
  const header = ctx.headers['if-match']
  if (header === undefined || header.trim() === '*') return 'any'
  const revision = header.match(/^\s*(?:W\/)?"(\d+)"\s*$/)?.[1]
  if (revision === undefined) {
    throw new GatewayError('revision_mismatch', 'If-Match must be the ETag of the rule, such as "3", or *.')
  }
  return Number(revision)
}

/** Who makes a change by HTTP. */
export function requestAuthor(ctx: GatewayContext) {
  return { actor: ctx.account.keyId, requestId: ctx.requestId }
}

/** Answers with a rule, its ETag and what its owner should know, or with the removal of one. */
export function sendRule(ctx: GatewayContext, outcome: RuleChangeResult): void {
  if (outcome.type === 'removed') {
    ctx.body = { success: true }
    return
  }
  const { shown, revision, warnings } = outcome
  ctx.set('etag', `"${revision}"`)
  ctx.body = { data: shown, ...(warnings.length > 0 && { warnings }) }
}

/** Runs a step for one of several things in a body; an error gets the place of that thing before its message. */
export function prefixErrors<Result>(where: string, run: () => Result): Result {
  try {
    return run()
  } catch (error) {
    if (!GatewayError.isInstance(error)) throw error
    throw new GatewayError(error.code, `${where}: ${error.message}`, error.details)
  }
}
