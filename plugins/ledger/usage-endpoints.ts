import {
  type Endpoint,
  endpoint,
  operator,
  type Static,
  type TObject,
  user,
} from '../../core/contract/index.ts'
import { invalidParameterError } from '../../core/http/parse-call.ts'
import type { LedgerReader } from './reader.ts'
import { showUsage } from './show-record.ts'
import type { UsageDimension, UsageQuery } from './store/queries.ts'
import { DAY_MS, HOUR_MS } from './store/units.ts'
import { parseTimeParameter } from './time-parameter.ts'
import { adminUsageQuery, UsageReport, usageQuery } from './usage-schemas.ts'

const common = {
  responses: { 200: { description: 'The usage.', body: UsageReport } },
  errors: ['ledger_unavailable'],
} as const

/** Creates the endpoints that sum requests up. */
export function createUsageEndpoints(reader: LedgerReader): readonly Endpoint[] {
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
      access: operator('auditor'),
      operationId: 'readAllUsage',
      summary: 'Returns the requests, tokens and cost of all users, by the fields that you group by.',
      tags: ['admin'],
      query: adminUsageQuery,
      handle: ({ query }) =>
        respond(reader, query, {
          ...(query.user !== undefined && { userId: query.user }),
          ...(query.group !== undefined && { groupId: query.group }),
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
  caller: Pick<UsageQuery, 'userId' | 'groupId'>,
) {
  const { group_by = [], key } = query
  const until = query.until === undefined ? Date.now() : parseTimeParameter(query.until, 'until')
  const since =
    query.since === undefined ? until - DEFAULT_DAYS * DAY_MS : parseTimeParameter(query.since, 'since')
  if (since > until) throw invalidParameterError('since', 'since must not be after until.')
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
  return {
    status: 200,
    body: { data: groups.map(showUsage), since: toTime(range.since), until: toTime(range.until) },
  }
}

function toTime(hour: number): string {
  return new Date(hour * HOUR_MS).toISOString()
}
