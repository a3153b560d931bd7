import type { FirewallRule, GatewayRouter, JsonObject, RoutingRule } from '../../core/contract/index.ts'
import { isRuleEvent } from '../../core/events/codec.ts'
import { jsonBody } from '../../core/http/read-body.ts'
import { createLazyParser } from '../../core/schema.ts'
import type { PastEvent } from '../../projections/past.ts'
import { executeRuleChanges } from '../rules/carry-out.ts'
import { type RuleChangeResult, ruleNotFoundError } from '../rules/changes.ts'
import type { RuleKind } from '../rules/kind.ts'
import {
  parseIfMatch,
  parseRuleId,
  type RuleContext,
  requestAuthor,
  sendRule,
} from '../rules/rule-request.ts'
import { HistoryChangedError, revertRule } from './revert.ts'
import type { AuditServices } from './services.ts'
import { showEntry } from './show-entry.ts'
import { type AuditEntry, readAuditEntries } from './trail.ts'

/** The body of `POST …/{id}/revert`. */
export const revertSchema: JsonObject = {
  type: 'object',
  required: ['revision'],
  properties: { revision: { type: 'integer', minimum: 1 } },
}

const readRevert = createLazyParser<{ readonly revision: number }>(revertSchema)

const MOST_TRIES = 10

/** How long this node may take to see what is in the log already, in milliseconds. */
const PATIENCE = 5000

/** `…/{id}/history` and `…/{id}/revert` for one kind of rules. */
export function addHistoryRoutes<Rule extends RoutingRule | FirewallRule, Content>(
  router: GatewayRouter,
  path: string,
  kind: RuleKind<Rule, Content>,
  services: AuditServices,
): void {
  async function readHistory(ctx: RuleContext) {
    const events = await services.past.eventsOf(ctx.account.userId)
    const ruleId = parseRuleId(ctx)
    const history = readAuditEntries(events, services.kinds).filter((entry) => isAbout(entry, kind, ruleId))
    if (history.length === 0) throw ruleNotFoundError(kind.name)
    return { ruleId, history, readAt: lastRulePosition(events) }
  }

  async function revert(ctx: RuleContext, revision: number): Promise<readonly RuleChangeResult[]> {
    const { userId } = ctx.account
    const rules = () => services.rules.of(userId)
    const desk = services.desks[kind.name](userId)
    const scene = { kind, desk, userId, rules, ...(await readHistory(ctx)) }
    await services.live.until(() => rules().position >= scene.readAt, PATIENCE)
    const change = revertRule(scene, revision, parseIfMatch(ctx))
    return executeRuleChanges([change], services, userId, requestAuthor(ctx))
  }

  router.get(`${path}/:id/history`, async (ctx) => {
    const { history } = await readHistory(ctx)
    ctx.body = { data: history.map(showEntry) }
  })
  router.post(`${path}/:id/revert`, async (ctx) => {
    const { revision } = readRevert(jsonBody(ctx))
    const [outcome] = await tryAgain(() => revert(ctx, revision))
    if (outcome !== undefined) sendRule(ctx, outcome)
  })
}

function isAbout(entry: AuditEntry, kind: { readonly name: string }, ruleId: number) {
  return entry.kind === kind.name && entry.id === ruleId
}

function lastRulePosition(events: readonly PastEvent[]): number {
  return events.findLast(({ event }) => event !== undefined && isRuleEvent(event))?.record.position ?? 0
}

async function tryAgain<Result>(run: () => Promise<Result>): Promise<Result> {
  for (let tries = 1; ; tries++) {
    try {
      return await run()
    } catch (error) {
      if (!(error instanceof HistoryChangedError) || tries === MOST_TRIES) throw error
    }
  }
}
