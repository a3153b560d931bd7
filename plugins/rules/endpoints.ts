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

/** Adds the endpoints to list, create, read, update and delete rules of one kind. */
export function addRuleRoutes(router: GatewayRouter, path: string, services: RuleEndpointServices): void {
  const { createCommands, history } = services
  const commandsOf = (ctx: GatewayContext) => createCommands(ctx.account.userId)

  /** Commands on the rules as of the time or position in `as_of`; on the current rules without it. */
  async function commandsAsOf(ctx: GatewayContext): Promise<RuleCommands> {
    const { userId } = ctx.account
    const { as_of } = ctx.query
    if (as_of === undefined) return createCommands(userId)
    const rules = await history.rulesOf(userId, parseAsOf(as_of, 'as_of'))
    return createCommands(userId, () => rules)
  }

  async function execute(ctx: GatewayContext, change: RuleChange): Promise<void> {
    const [result] = await executeRuleChanges([change], services, ctx.account.userId, requestAuthor(ctx))
    if (result !== undefined) sendRule(ctx, result)
  }

  router.get(path, async (ctx) => {
    const commands = await commandsAsOf(ctx)
    await commands.prepare()
    ctx.body = { data: commands.list() }
  })
  router.post(path, async (ctx) => {
    await execute(ctx, commandsOf(ctx).create(jsonBody(ctx)))
    ctx.status = 201
  })
  router.get(`${path}/:id`, async (ctx) => {
    const commands = await commandsAsOf(ctx)
    await commands.prepare()
    sendRule(ctx, commands.show(parseRuleId(ctx)))
  })
  router.patch(`${path}/:id`, async (ctx) => {
    await execute(ctx, commandsOf(ctx).update(parseRuleId(ctx), jsonBody(ctx), parseIfMatch(ctx)))
  })
  router.delete(`${path}/:id`, async (ctx) => {
    await execute(ctx, commandsOf(ctx).remove(parseRuleId(ctx), parseIfMatch(ctx)))
  })
}

/** A request with an optional rule id in its path. */
export type RuleContext = GatewayContext & { readonly params: { readonly id?: string } }

/** Parses the id in the path. Returns 0, which is never the id of a rule, unless it consists of digits. */
export function parseRuleId({ params }: RuleContext): number {
  const id = params.id ?? ''
  return /^\d{1,15}$/.test(id) ? Number(id) : 0
}

/** Parses `If-Match`. Without the header any revision is accepted; throws 412 if it is malformed. */
export function parseIfMatch(ctx: GatewayContext): ExpectedRuleRevision {
  const header = ctx.headers['if-match']
  if (header === undefined || header.trim() === '*') return 'any'
  const revision = header.match(/^\s*(?:W\/)?"(\d+)"\s*$/)?.[1]
  if (revision === undefined) {
    throw new GatewayError('revision_mismatch', 'If-Match must be the ETag of the rule, such as "3", or *.')
  }
  return Number(revision)
}

/** The author of changes made by a request. */
export function requestAuthor(ctx: GatewayContext) {
  return { actor: ctx.account.keyId, requestId: ctx.requestId }
}

/** Responds with a rule, its ETag and its warnings, or with the success of a deletion. */
export function sendRule(ctx: GatewayContext, result: RuleChangeResult): void {
  if (result.type === 'removed') {
    ctx.body = { success: true }
    return
  }
  const { shown, revision, warnings } = result
  ctx.set('etag', `"${revision}"`)
  ctx.body = { data: shown, ...(warnings.length > 0 && { warnings }) }
}

/** Runs a function and prefixes the message of a `GatewayError` with a path in the request body. */
export function prefixErrors<Result>(path: string, run: () => Result): Result {
  try {
    return run()
  } catch (error) {
    if (!GatewayError.isInstance(error)) throw error
    throw new GatewayError(error.code, `${path}: ${error.message}`, error.details)
  }
}
