import { type Author, data, type EndpointCall, endpoint, user } from '../../core/contract/index.ts'
import {
  etagHeader,
  parsePrecondition,
  preconditionHeaders,
  repeatable,
} from '../../core/http/change-headers.ts'
import { dataWithWarnings } from '../../core/http/schemas.ts'
import { WRITE_ERRORS } from '../../core/resources/endpoints.ts'
import { fixedBackoff, retry } from '../../core/threads/retry.ts'
import { parseAsOf } from '../../core/util/as-of.ts'
import { isRuleEvent } from '../../projections/events/rules.ts'
import type { PastEvent } from '../../projections/past-events.ts'
import type { RuleHistoryServices, RuleKind } from '../rules/index.ts'
import {
  executeRuleChanges,
  HISTORY_ERRORS,
  type RuleChangeResult,
  replayRuleChange,
  ruleId,
  ruleNotFoundError,
  toRuleResponse,
} from '../rules/index.ts'
import { type AuditEntry, parseAuditQuery, toAuditEntries } from './audit-entries.ts'
import { HistoryChangedError, revertRule } from './revert.ts'
import { auditQuery, ChangeList, ChangePage, DiffSchema, diffQuery, Revert } from './schemas.ts'
import type { AuditServices } from './services.ts'

const tags = ['audit']

/** `GET /v1/audit`: all changes to the caller's rules, keys and plan, newest first. */
export function createAuditEndpoint({ past }: AuditServices) {
  return endpoint({
    method: 'GET',
    path: '/v1/audit',
    access: user(),
    operationId: 'listChanges',
    summary: 'Lists the changes to your rules, keys and plan, newest first.',
    tags,
    query: auditQuery,
    responses: { 200: { description: 'A page of changes.', body: ChangePage } },
    errors: HISTORY_ERRORS,
    async handle({ account, query, client }) {
      const owner = { userId: account.userId }
      const json = await past.page({ owner, filter: parseAuditQuery(query) }, client.signal)
      return { status: 200, json }
    },
  })
}

/** `GET …/rules/diff`: how the rules differ between two points in time. */
export function createDiffEndpoint({ past, rules, scope }: RuleHistoryServices) {
  return endpoint({
    method: 'GET',
    path: `${scope.path}/rules/diff`,
    params: scope.params,
    access: scope.read,
    operationId: `diff${scope.operation}Rules`,
    summary: `Compares ${scope.whose} rules at two points in the log.`,
    tags,
    query: diffQuery,
    responses: { 200: { description: 'The differences.', body: data(DiffSchema) } },
    errors: ['missing_parameter', ...HISTORY_ERRORS],
    async handle(call) {
      const { query } = call
      const owner = rules.owner(scope.ownerOf(call, true))
      const from = parseAsOf(query.from, 'from')
      const to = query.to === undefined ? undefined : parseAsOf(query.to, 'to')
      return { status: 200, json: await past.diff({ owner, from, to }, call.client.signal) }
    },
  })
}

/** Another request may change the rule while it is reverted. */
const IMMEDIATE_RETRIES = new Array<number>(9).fill(0)

/** Maximum time to wait until this node has applied events that are in the log. */
const CATCH_UP_TIMEOUT_MS = 5000

/** Creates `…/{id}/history` and `…/{id}/revert` for one kind of rules. */
export function createHistoryEndpoints(kind: RuleKind, services: RuleHistoryServices) {
  const { scope } = services
  const { name, schema, errors } = kind.api
  const path = `${scope.path}/${kind.api.path}`
  const common = {
    tags,
    params: { ...scope.params, id: ruleId },
    notFound: () => ruleNotFoundError(kind.name),
  }

  async function readHistory(ownerId: number, ruleId: number) {
    const events = await services.history.eventsOf(ownerId)
    const all = await toAuditEntries(events, services.kinds)
    const entries = all.filter((entry) => isAbout(entry, kind, ruleId))
    if (entries.length === 0) throw ruleNotFoundError(kind.name)
    return { ruleId, entries, readAt: lastRulePosition(events) }
  }

  async function revert(call: RevertCall): Promise<readonly RuleChangeResult[]> {
    const { author, params, headers, body } = call
    const ownerId = scope.ownerOf(call)
    const rules = () => services.rules.of(ownerId)
    const owner = services.rules.owner(ownerId)
    const commands = services.commands[kind.name](ownerId)
    const context = { kind, commands, owner, rules, ...(await readHistory(ownerId, params.id)) }
    await services.subscription.until(() => rules().position >= context.readAt, CATCH_UP_TIMEOUT_MS)
    const change = revertRule(context, body.revision, parsePrecondition(headers))
    return executeRuleChanges([change], services, ownerId, author)
  }

  return [
    endpoint({
      ...common,
      method: 'GET',
      path: `${path}/{id}/history`,
      access: scope.read,
      operationId: `read${scope.operation}${name}History`,
      summary: 'Lists the changes to a rule, oldest first.',
      description: 'Works for deleted rules, too.',
      responses: { 200: { description: 'All changes to the rule.', body: ChangeList } },
      errors: HISTORY_ERRORS,
      async handle(call) {
        const owner = services.rules.owner(scope.ownerOf(call, true))
        const query = { owner, kind: kind.name, ruleId: call.params.id }
        const json = await services.past.changes(query, call.client.signal)
        if (json === undefined) throw ruleNotFoundError(kind.name)
        return { status: 200, json }
      },
    }),
    repeatable(
      endpoint({
        ...common,
        method: 'POST',
        path: `${path}/{id}/revert`,
        access: scope.write,
        operationId: `revert${scope.operation}${name}`,
        summary: 'Restores the content of an earlier revision of a rule as a new revision.',
        headers: preconditionHeaders('rule'),
        body: Revert,
        examples: { first: { revision: 1 } },
        responses: {
          200: {
            description: 'The rule after the change.',
            headers: etagHeader('rule'),
            body: dataWithWarnings(schema),
          },
        },
        errors: [...errors, ...WRITE_ERRORS, 'missing_parameter', 'revision_mismatch'],
        async handle(call) {
          const [result] = await retry(() => revert(call), {
            backoff: fixedBackoff(IMMEDIATE_RETRIES),
            shouldRetry: (error) => error instanceof HistoryChangedError,
          })
          return toRuleResponse(200, result)
        },
      }),
      (call, change) => replayRuleChange(200, call, change, kind, services),
    ),
  ]
}

type RevertCall = EndpointCall & {
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
