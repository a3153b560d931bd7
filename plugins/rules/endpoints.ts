import {
  type FirewallRule,
  type GatewayContext,
  GatewayError,
  type GatewayRouter,
  type RoutingRule,
} from '../../core/contract/index.ts'
import { bodyOf } from '../../core/http/read-body.ts'
import { createRuleCommands, type ExpectedRule, type RuleServices } from './commands.ts'
import type { RuleKind } from './kind.ts'

/** List, create, read, update and delete for one kind of rules (interface: "Endpoints"). */
export function addRuleRoutes<Rule extends RoutingRule | FirewallRule, Content>(
  router: GatewayRouter,
  kind: RuleKind<Rule, Content>,
  services: RuleServices,
): void {
  const commandsFor = (ctx: GatewayContext) => createRuleCommands(kind, services, ctx.account.userId)

  function answerRule(ctx: GatewayContext, rule: Rule): void {
    const warnings = kind.remark(rule)
    ctx.set('etag', `"${rule.revision}"`)
    ctx.body = { data: kind.show(rule), ...(warnings.length > 0 && { warnings }) }
  }

  router.get(kind.path, async (ctx) => {
    ctx.body = { data: commandsFor(ctx).list().map(kind.show) }
  })
  router.post(kind.path, async (ctx) => {
    const rule = await commandsFor(ctx).create(kind.readNew(bodyOf(ctx)), authorOf(ctx))
    ctx.status = 201
    answerRule(ctx, rule)
  })
  router.get(`${kind.path}/:id`, async (ctx) => {
    answerRule(ctx, commandsFor(ctx).find(ruleIdOf(ctx)))
  })
  router.patch(`${kind.path}/:id`, async (ctx) => {
    const commands = commandsFor(ctx)
    const { id } = commands.find(ruleIdOf(ctx))
    const changes = kind.readChanges(bodyOf(ctx))
    answerRule(ctx, await commands.update(id, changes, expectedRule(ctx), authorOf(ctx)))
  })
  router.delete(`${kind.path}/:id`, async (ctx) => {
    await commandsFor(ctx).remove(ruleIdOf(ctx), expectedRule(ctx), authorOf(ctx))
    ctx.body = { success: true }
  })
}

function authorOf(ctx: GatewayContext) {
  return { actor: ctx.account.keyId, requestId: ctx.requestId }
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
