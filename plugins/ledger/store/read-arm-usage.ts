import { type Kysely, sql } from 'kysely'
import type { UsageDimension, UsageQuery } from './queries.ts'
import { firstIdAt, LEDGER_EPOCH_MS } from './record-id.ts'
import { selectMeasures, selectRequests, UNINDEXED_ID } from './sum-requests.ts'
import type { LedgerTables } from './tables.ts'
import { DAY_MS, HOUR_MS } from './units.ts'

const EPOCH_HOURS = LEDGER_EPOCH_MS / HOUR_MS
const idsOf = (ms: number) => sql.lit(firstIdAt(LEDGER_EPOCH_MS + ms))
const ID = sql.ref('requests.id')

/** How a dimension is selected and grouped, by the name that it has in rows. */
const EXPRESSIONS: Readonly<Record<UsageDimension, Readonly<Record<string, ReturnType<typeof sql>>>>> = {
  user: { user: sql.ref('requests.user_id') },
  group: { group: sql.ref('group_members.group_id') },
  key: { key: sql.ref('keys.value') },
  model: { model: sql.ref('targets.model') },
  provider: { provider: sql.ref('targets.provider') },
  rule: { rule_kind: sql.ref('kinds.value'), rule_id: sql.ref('applied.rule_id') },
  arm: { arm: sql.ref('arms.value') },
  hour: { hour: sql`${ID} / ${idsOf(HOUR_MS)} + ${sql.lit(EPOCH_HOURS)}` },
  day: { day: sql`${ID} / ${idsOf(DAY_MS)} + ${sql.lit(EPOCH_HOURS / 24)}` },
}

interface ResolvedFilter extends Pick<UsageQuery, 'groupBy' | 'since' | 'until' | 'limit'> {
  readonly userId: number | undefined
  readonly key: number | undefined
  readonly groupSets: readonly number[] | undefined
}

/**
 * Returns the usage of requests that a split has drawn a model for. See docs/decisions/ledger.md, "Arms and
 * copies are summed up from requests".
 */
export async function readArmUsage(
  db: Kysely<LedgerTables>,
  { groupBy, since, until, userId, key, groupSets, limit }: ResolvedFilter,
): Promise<readonly unknown[]> {
  let query = selectRequests(db)
    .innerJoin('labels as arms', 'arms.id', 'requests.routing_arm')
    .where('requests.routing_arm', 'is not', null)
    .where('requests.shadow_of', 'is', null)
    .where(UNINDEXED_ID, '>=', firstIdAt(since * HOUR_MS))
    .where(UNINDEXED_ID, '<', firstIdAt(until * HOUR_MS))
    .limit(limit)
    .select(selectMeasures())
  if (userId !== undefined) query = query.where('requests.user_id', '=', userId)
  if (key !== undefined) query = query.where('requests.key', '=', key)
  if (groupSets !== undefined) query = query.where('requests.group_set', 'in', groupSets)
  if (groupBy.includes('key')) query = query.leftJoin('labels as keys', 'keys.id', 'requests.key')
  if (groupBy.includes('group'))
    query = query.innerJoin('group_members', 'group_members.group_set', 'requests.group_set')
  if (groupBy.includes('rule'))
    query = query
      .innerJoin(
        // A rule with several actions counts once.
        db.selectFrom('trace_rules').select(['kind', 'rule_id', 'trace']).distinct().as('applied'),
        'applied.trace',
        'requests.trace',
      )
      .leftJoin('labels as kinds', 'kinds.id', 'applied.kind')
  if (groupBy.includes('model') || groupBy.includes('provider'))
    query = query.leftJoin('targets', 'targets.id', 'requests.target')
  for (const dimension of groupBy)
    for (const [name, value] of Object.entries(EXPRESSIONS[dimension]))
      query = query.select(value.as(name)).groupBy(value).orderBy(value)
  return query.execute()
}
