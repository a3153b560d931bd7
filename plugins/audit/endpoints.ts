import {
  type FirewallRule,
  GatewayError,
  type GatewayRouter,
  type JsonObject,
  type RoutingRule,
} from '../../core/contract/index.ts'
import { isRuleEvent } from '../../core/events/codec.ts'
import { jsonBody } from '../../core/http/read-body.ts'
import { type AsOf, parseAsOf } from '../../core/util/as-of.ts'
import { createLazyParser } from '../../core/util/json-schema.ts'
import { foldUser, type PastEvent, toPastRuleSet } from '../../projections/history.ts'
import { parseIfMatch, parseRuleId, type RuleContext, requestAuthor, sendRule } from '../rules/endpoints.ts'
import { executeRuleChanges, type RuleChangeResult, ruleNotFoundError } from '../rules/rule-commands.ts'
import type { RuleKind } from '../rules/rule-kind.ts'
import type { AuditServices } from './audit-entries.ts'
import { type AuditEntry, toAuditEntries } from './audit-entries.ts'
import { diffRules } from './diff-rules.ts'
import { findAuditEntries, parseAuditQuery, parseQuery, showAuditEntry } from './find-entries.ts'
import { HistoryChangedError, revertRule } from './revert.ts'

/** `GET /v1/audit`: everything that happened to the caller's rules, keys and plan, newest first. */
export function addAuditRoute(router: GatewayRouter, { history: past, kinds }: AuditServices): void {
  router.get('/v1/audit', async (ctx) => {
    const query = parseAuditQuery(ctx)
    const trail = toAuditEntries(await past.eventsOf(ctx.account.userId), kinds)
    const { entries, next } = findAuditEntries(trail, query)
    ctx.body = { data: entries.map(showAuditEntry), next_cursor: next }
  })
}

/** `GET /v1/rules/diff`: what became of the caller's rules from one moment to another, or to now. */
export function addDiffRoute(router: GatewayRouter, { history: past, kinds }: AuditServices): void {
  /** The rules, and the position of the last event that they and the plan come from. */
  async function lookAt(userId: number, moment: AsOf | undefined) {
    const events = await past.eventsOf(userId, moment)
    const position = events.at(-1)?.record.position ?? 0
    return { position, rules: toPastRuleSet(userId, foldUser(userId, events).rules) }
  }

  router.get('/v1/rules/diff', async (ctx) => {
    const { userId } = ctx.account
    const query = parseQuery(ctx, ['from', 'to'])
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
    const events = await services.history.eventsOf(ctx.account.userId)
    const ruleId = parseRuleId(ctx)
    const history = toAuditEntries(events, services.kinds).filter((entry) => isAbout(entry, kind, ruleId))
    if (history.length === 0) throw ruleNotFoundError(kind.name)
    return { ruleId, history, readAt: lastRulePosition(events) }
  }

  async function revert(ctx: RuleContext, revision: number): Promise<readonly RuleChangeResult[]> {
    const { userId } = ctx.account
    const rules = () => services.rules.of(userId)
    const desk = services.commands[kind.name](userId)
    const scene = { kind, desk, userId, rules, ...(await readHistory(ctx)) }
    await services.subscription.until(() => rules().position >= scene.readAt, PATIENCE)
    const change = revertRule(scene, revision, parseIfMatch(ctx))
    return executeRuleChanges([change], services, userId, requestAuthor(ctx))
  }

  router.get(`${path}/:id/history`, async (ctx) => {
    const { history } = await readHistory(ctx)
    ctx.body = { data: history.map(showAuditEntry) }
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
