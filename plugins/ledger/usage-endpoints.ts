import {
  type Endpoint,
  endpoint,
  type OperatorScope,
  operator,
  type Static,
  type TObject,
  user,
} from '../../core/contract/index.ts'
import { invalidParameterError } from '../../core/http/parse-call.ts'
import type { Accounts } from '../../projections/accounts.ts'
import type { LedgerReader } from './reader.ts'
import { toGroupFilter } from './scoped-records.ts'
import { showCopies, showUsage } from './show-record.ts'
import type { CopyQuery, UsageDimension, UsageGroup, UsageQuery } from './store/queries.ts'
import { DAY_MS, HOUR_MS } from './store/record-id.ts'
import { parseTimeRange } from './time-parameter.ts'
import {
  adminCopyQuery,
  adminUsageQuery,
  CopyReport,
  copyQuery,
  UsageReport,
  usageQuery,
} from './usage-schemas.ts'

const common = {
  responses: { 200: { description: 'The usage.', body: UsageReport } },
  errors: ['ledger_unavailable'],
} as const

const copies = {
  method: 'GET',
  responses: { 200: { description: 'The copies.', body: CopyReport } },
  errors: ['ledger_unavailable'],
} as const

/** Creates the endpoints that sum requests up. */
export function createUsageEndpoints(
  reader: LedgerReader,
  accounts: Pick<Accounts, 'user' | 'ownerOfKey'>,
): readonly Endpoint[] {
  /** The name of the user, or else of the key or rule. Requests tell what deleted rules were called. */
  async function readName(
    { user, key, rule }: UsageGroup,
    scope: OperatorScope | undefined,
  ): Promise<string | null> {
    // Users who have left the groups of the scope have their names of others.
    const isHidden = (id: number | undefined) => id !== undefined && scope?.hasUser(id) === false
    if (user !== undefined) return isHidden(user) ? null : (accounts.user(user)?.name ?? null)
    if (key !== undefined) {
      const owner = accounts.ownerOfKey(key)
      if (isHidden(owner?.id)) return null
      const name = owner?.keys.find(({ id }) => id === key)?.name ?? key.slice(0, 12)
      return owner === undefined ? null : `${name} (${owner.name})`
    }
    if (rule === undefined) return null
    const filter = { rule, ...toGroupFilter(undefined, scope) }
    const { records } = await reader.list({ filter, limit: 1 })
    const entry =
      records[0]?.rules.find(({ kind, rule_id }) => kind === rule.kind && rule_id === rule.id) ??
      (await findInCalls(rule, scope))
    if (entry === undefined) return null
    return entry.origin === undefined ? entry.name : `${entry.name} (${entry.origin.name})`
  }

  /** Rules of tools may only be known of calls of tools. */
  async function findInCalls(rule: NonNullable<UsageGroup['rule']>, scope: OperatorScope | undefined) {
    const filter = { rule, ...toGroupFilter(undefined, scope) }
    const [call] = await reader.listToolCalls({ filter, limit: 1 })
    return call?.rules.find(({ kind, id }) => kind === rule.kind && id === rule.id)
  }

  return [
    endpoint({
      ...common,
      method: 'GET',
      path: '/v1/usage',
      access: user(),
      operationId: 'readUsage',
      summary: 'Returns your requests, tokens and cost, by the fields that you group by.',
      tags: ['inference'],
      query: usageQuery,
      handle: ({ query, account }) => respond(reader, query, { userId: account.userId }),
    }),
    endpoint({
      ...common,
      method: 'GET',
      path: '/admin/usage',
      access: operator('auditor', 'filtered'),
      operationId: 'readAllUsage',
      summary: 'Returns the requests, tokens and cost of all users, by the fields that you group by.',
      tags: ['admin'],
      query: adminUsageQuery,
      handle({ query: { names = false, user, group, ...query }, scope }) {
        const caller = { ...(user !== undefined && { userId: user }), ...toGroupFilter(group, scope) }
        return respond(reader, query, caller, names ? (each) => readName(each, scope) : undefined)
      },
    }),
    endpoint({
      ...copies,
      path: '/v1/usage/copies',
      access: user(),
      operationId: 'readCopies',
      summary: 'Returns the copies of your requests for other models, by rule and model.',
      tags: ['inference'],
      query: copyQuery,
      handle: ({ query, account }) => respondCopies(reader, query, { userId: account.userId }),
    }),
    endpoint({
      ...copies,
      path: '/admin/usage/copies',
      access: operator('auditor', 'filtered'),
      operationId: 'readAllCopies',
      summary: 'Returns the copies of requests of all users for other models, by rule and model.',
      tags: ['admin'],
      query: adminCopyQuery,
      handle: ({ query, scope }) =>
        respondCopies(reader, query, {
          ...(query.user !== undefined && { userId: query.user }),
          ...(scope && { anyGroup: scope.groups() }),
        }),
    }),
  ]
}

/** Without a range, the last days are reported. */
const DEFAULT_DAYS = 30

const MAX_GROUPS = 10_000

type UsageQueryValues = Static<TObject<typeof usageQuery>>

async function respond(
  reader: LedgerReader,
  query: UsageQueryValues,
  caller: Pick<UsageQuery, 'userId' | 'groupId' | 'anyGroup'>,
  readName?: (group: UsageGroup) => Promise<string | null>,
) {
  const { group_by = [], key } = query
  const { since, until } = parseRange(query)
  const range = { since: Math.floor(since / HOUR_MS), until: Math.ceil(until / HOUR_MS) }
  const groups = await reader.usage({
    // The schema allows no others.
    groupBy: group_by as readonly UsageDimension[],
    ...range,
    ...caller,
    ...(key !== undefined && { keyId: key }),
    limit: MAX_GROUPS + 1,
  })
  if (groups.length > MAX_GROUPS) {
    const advice = 'Choose a shorter range, or group by fewer fields.'
    throw invalidParameterError('group_by', `There are more than ${MAX_GROUPS} groups. ${advice}`)
  }
  const data = groups.map(showUsage)
  // One after the other, so that others can read the ledger meanwhile.
  if (readName)
    for (const [index, group] of groups.entries())
      data[index] = { ...data[index], name: await readName(group) }
  return { status: 200, body: { data, since: toTime(range.since), until: toTime(range.until) } }
}

async function respondCopies(
  reader: LedgerReader,
  query: Static<TObject<typeof copyQuery>>,
  caller: Pick<CopyQuery, 'userId' | 'anyGroup'>,
) {
  const { since, until } = parseRange(query)
  const sums = await reader.copies({ since, until, ...caller })
  const times = { since: new Date(since).toISOString(), until: new Date(until).toISOString() }
  return { status: 200, body: { data: sums.map(showCopies), ...times } }
}

function parseRange(query: Static<TObject<typeof copyQuery>>) {
  const range = parseTimeRange(query)
  // Of now: requests of this millisecond are part of it.
  const { until = Date.now() + 1 } = range
  const { since = until - DEFAULT_DAYS * DAY_MS } = range
  if (since > until) throw invalidParameterError('since', 'since must not be after until.')
  return { since, until }
}

function toTime(hour: number): string {
  return new Date(hour * HOUR_MS).toISOString()
}
