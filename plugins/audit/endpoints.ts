import {
  type Account,
  type Author,
  data,
  type EndpointCall,
  endpoint,
  type FirewallRule,
  type RoutingRule,
  user,
} from '../../core/contract/index.ts'
import { isRuleEvent } from '../../core/events/codec.ts'
import { parseIfMatch } from '../../core/http/conditional.ts'
import { repeatable } from '../../core/http/idempotency.ts'
import { dataWithWarnings } from '../../core/http/schemas.ts'
import { fixedBackoff, retry } from '../../core/process/retry.ts'
import { type AsOf, parseAsOf } from '../../core/util/as-of.ts'
import { foldUser, type PastEvent, toPastRuleSet } from '../../projections/history.ts'
import { RULE_WRITE_ERRORS, replayRuleChange, toRuleResponse } from '../rules/endpoints.ts'
import { executeRuleChanges, type RuleChangeResult, ruleNotFoundError } from '../rules/rule-commands.ts'
import type { RuleKind } from '../rules/rule-kind.ts'
import { etagHeader, ifMatchHeader, ruleId } from '../rules/schemas.ts'
import { type AuditEntry, toAuditEntries } from './audit-entries.ts'
import { diffRules } from './diff-rules.ts'
import { findAuditEntries, parseAuditQuery, showAuditEntry } from './find-entries.ts'
import { HistoryChangedError, revertRule } from './revert.ts'
import { auditQuery, ChangeList, ChangePage, DiffSchema, diffQuery, Revert } from './schemas.ts'
import type { AuditServices } from './services.ts'

const tags = ['audit']

/** `GET /v1/audit`: all changes to the caller's rules, keys and plan, newest first. */
export function createAuditEndpoint({ history, kinds }: AuditServices) {
  return endpoint({
    method: 'GET',
    path: '/v1/audit',
    access: user(),
    operationId: 'listChanges',
    summary: 'Lists the changes to your rules, keys and plan, newest first.',
    tags,
    query: auditQuery,
    responses: { 200: { description: 'A page of changes.', body: ChangePage } },
    async handle({ account, query }) {
      const parsed = parseAuditQuery(query)
      const all = toAuditEntries(await history.eventsOf(account.userId), kinds)
      const { entries, next } = findAuditEntries(all, parsed)
      return { status: 200, body: { data: entries.map(showAuditEntry), next_cursor: next } }
    },
  })
}

/** `GET /v1/rules/diff`: how the caller's rules differ between two points in time. */
export function createDiffEndpoint({ history, kinds }: AuditServices) {
  /** The rules, and the position of the last event about the user. */
  async function readState(userId: number, asOf: AsOf | undefined) {
    const events = await history.eventsOf(userId, asOf)
    const position = events.at(-1)?.record.position ?? 0
    return { position, rules: toPastRuleSet(userId, foldUser(userId, events).rules) }
  }

  return endpoint({
    method: 'GET',
    path: '/v1/rules/diff',
    access: user({ plan: 'paid' }),
    operationId: 'diffRules',
    summary: 'Compares your rules at two points in the log.',
    tags,
    query: diffQuery,
    responses: { 200: { description: 'The differences.', body: data(DiffSchema) } },
    errors: ['missing_parameter'],
    async handle({ account: { userId }, query }) {
      const from = await readState(userId, parseAsOf(query.from, 'from'))
      const to = await readState(userId, query.to === undefined ? undefined : parseAsOf(query.to, 'to'))
      const changes = diffRules(from.rules, to.rules, kinds)
      return { status: 200, body: { data: { from: from.position, to: to.position, ...changes } } }
    },
  })
}

/** Another request may change the rule while it is reverted. */
const IMMEDIATE_RETRIES = new Array<number>(9).fill(0)

/** Maximum time to wait until this node has applied events that are in the log. */
const CATCH_UP_TIMEOUT_MS = 5000

/** Creates `…/{id}/history` and `…/{id}/revert` for one kind of rules. */
export function createHistoryEndpoints<Rule extends RoutingRule | FirewallRule, Content>(
  kind: RuleKind<Rule, Content>,
  services: AuditServices,
) {
  const { path, name, schema, errors } = kind.api
  const common = {
    access: user({ plan: 'paid' }),
    tags,
    params: { id: ruleId },
    notFound: () => ruleNotFoundError(kind.name),
  }

  async function readHistory({ userId }: Account, ruleId: number) {
    const events = await services.history.eventsOf(userId)
    const entries = toAuditEntries(events, services.kinds).filter((entry) => isAbout(entry, kind, ruleId))
    if (entries.length === 0) throw ruleNotFoundError(kind.name)
    return { ruleId, entries, readAt: lastRulePosition(events) }
  }

  async function revert(call: RevertCall): Promise<readonly RuleChangeResult[]> {
    const { account, author, params, headers, body } = call
    const { userId } = account
    const rules = () => services.rules.of(userId)
    const commands = services.commands[kind.name](userId)
    const context = { kind, commands, userId, rules, ...(await readHistory(account, params.id)) }
    await services.subscription.until(() => rules().position >= context.readAt, CATCH_UP_TIMEOUT_MS)
    const change = revertRule(context, body.revision, parseIfMatch(headers['if-match']))
    return executeRuleChanges([change], services, userId, author)
  }

  return [
    endpoint({
      ...common,
      method: 'GET',
      path: `${path}/{id}/history`,
      operationId: `read${name}History`,
      summary: 'Lists the changes to a rule, oldest first.',
      description: 'Works for deleted rules, too.',
      responses: { 200: { description: 'All changes to the rule.', body: ChangeList } },
      async handle({ account, params: { id } }) {
        const { entries } = await readHistory(account, id)
        return { status: 200, body: { data: entries.map(showAuditEntry) } }
      },
    }),
    repeatable(
      endpoint({
        ...common,
        method: 'POST',
        path: `${path}/{id}/revert`,
        operationId: `revert${name}`,
        summary: 'Restores the content of an earlier revision of a rule as a new revision.',
        headers: ifMatchHeader,
        body: Revert,
        examples: { first: { revision: 1 } },
        responses: {
          200: {
            description: 'The rule after the change.',
            headers: etagHeader,
            body: dataWithWarnings(schema),
          },
        },
        errors: [...errors, ...RULE_WRITE_ERRORS, 'missing_parameter', 'revision_mismatch'],
        async handle(call) {
          const [result] = await retry(() => revert(call), {
            backoff: fixedBackoff(IMMEDIATE_RETRIES),
            shouldRetry: (error) => error instanceof HistoryChangedError,
          })
          return toRuleResponse(200, result)
        },
      }),
      (call, change) => {
        const createCommands = services.commands[kind.name]
        return replayRuleChange(200, call, change, { history: services.history, createCommands })
      },
    ),
  ]
}

type RevertCall = Pick<EndpointCall, 'headers'> & {
  readonly account: Account
  readonly author: Author
  readonly params: { readonly id: number }
  readonly body: { readonly revision: number }
}

function isAbout(entry: AuditEntry, kind: { readonly name: string }, ruleId: number) {
  return entry.kind === kind.name && entry.id === ruleId
}

function lastRulePosition(events: readonly PastEvent[]): number {
  return events.findLast(({ event }) => event !== undefined && isRuleEvent(event))?.record.position ?? 0
}
