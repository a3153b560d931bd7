import {
  type FirewallRule,
  GatewayError,
  type GatewayRouter,
  type RoutingRule,
  Type,
} from '../../core/contract/index.ts'
import { isRuleEvent } from '../../core/events/codec.ts'
import { jsonBody } from '../../core/http/read-body.ts'
import { fixedBackoff, retry } from '../../core/process/retry.ts'
import { type AsOf, parseAsOf } from '../../core/util/as-of.ts'
import { createLazyParser } from '../../core/util/json-schema.ts'
import { foldUser, type PastEvent, toPastRuleSet } from '../../projections/history.ts'
import { parseIfMatch, parseRuleId, type RuleContext, requestAuthor, sendRule } from '../rules/endpoints.ts'
import { executeRuleChanges, type RuleChangeResult, ruleNotFoundError } from '../rules/rule-commands.ts'
import type { RuleKind } from '../rules/rule-kind.ts'
import { type AuditEntry, toAuditEntries } from './audit-entries.ts'
import { diffRules } from './diff-rules.ts'
import { findAuditEntries, parseAuditQuery, parseQuery, showAuditEntry } from './find-entries.ts'
import { HistoryChangedError, revertRule } from './revert.ts'
import type { AuditServices } from './services.ts'

/** `GET /v1/audit`: all changes to the caller's rules, keys and plan, newest first. */
export function addAuditRoute(router: GatewayRouter, { history, kinds }: AuditServices): void {
  router.get('/v1/audit', async (ctx) => {
    const query = parseAuditQuery(ctx)
    const all = toAuditEntries(await history.eventsOf(ctx.account.userId), kinds)
    const { entries, next } = findAuditEntries(all, query)
    ctx.body = { data: entries.map(showAuditEntry), next_cursor: next }
  })
}

/** `GET /v1/rules/diff`: how the caller's rules differ between two points in time. */
export function addDiffRoute(router: GatewayRouter, { history, kinds }: AuditServices): void {
  /** The rules, and the position of the last event about the user. */
  async function readState(userId: number, asOf: AsOf | undefined) {
    const events = await history.eventsOf(userId, asOf)
    const position = events.at(-1)?.record.position ?? 0
    return { position, rules: toPastRuleSet(userId, foldUser(userId, events).rules) }
  }

  router.get('/v1/rules/diff', async (ctx) => {
    const { userId } = ctx.account
    const query = parseQuery(ctx, ['from', 'to'])
    if (query.from === undefined) {
      throw new GatewayError('missing_parameter', 'from is required.', { param: 'from' })
    }
    const from = await readState(userId, parseAsOf(query.from, 'from'))
    const to = await readState(userId, query.to === undefined ? undefined : parseAsOf(query.to, 'to'))
    ctx.body = {
      data: { from: from.position, to: to.position, ...diffRules(from.rules, to.rules, kinds) },
    }
  })
}

/** The body of `POST …/{id}/revert`. */
export const revertSchema = Type.Object({ revision: Type.Integer({ minimum: 1 }) })

const parseRevert = createLazyParser(revertSchema)

/** Another request may change the rule while it is reverted. */
const IMMEDIATE_RETRIES = new Array<number>(9).fill(0)

/** Maximum time to wait until this node has applied events that are in the log. */
const CATCH_UP_TIMEOUT_MS = 5000

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
    const entries = toAuditEntries(events, services.kinds).filter((entry) => isAbout(entry, kind, ruleId))
    if (entries.length === 0) throw ruleNotFoundError(kind.name)
    return { ruleId, entries, readAt: lastRulePosition(events) }
  }

  async function revert(ctx: RuleContext, revision: number): Promise<readonly RuleChangeResult[]> {
    const { userId } = ctx.account
    const rules = () => services.rules.of(userId)
    const commands = services.commands[kind.name](userId)
    const context = { kind, commands, userId, rules, ...(await readHistory(ctx)) }
    await services.subscription.until(() => rules().position >= context.readAt, CATCH_UP_TIMEOUT_MS)
    const change = revertRule(context, revision, parseIfMatch(ctx))
    return executeRuleChanges([change], services, userId, requestAuthor(ctx))
  }

  router.get(`${path}/:id/history`, async (ctx) => {
    const { entries } = await readHistory(ctx)
    ctx.body = { data: entries.map(showAuditEntry) }
  })
  router.post(`${path}/:id/revert`, async (ctx) => {
    const { revision } = parseRevert(jsonBody(ctx))
    const [result] = await retry(() => revert(ctx, revision), {
      backoff: fixedBackoff(IMMEDIATE_RETRIES),
      shouldRetry: (error) => error instanceof HistoryChangedError,
    })
    if (result !== undefined) sendRule(ctx, result)
  })
}

function isAbout(entry: AuditEntry, kind: { readonly name: string }, ruleId: number) {
  return entry.kind === kind.name && entry.id === ruleId
}

function lastRulePosition(events: readonly PastEvent[]): number {
  return events.findLast(({ event }) => event !== undefined && isRuleEvent(event))?.record.position ?? 0
}
