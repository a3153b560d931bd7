import { type Kysely, sql } from 'kysely'
import { firstIdAt, possibleRecordIds } from './record-id.ts'
import { FLAGS, type LedgerEngine, type LedgerTables, type RequestRow } from './tables.ts'
import { DAY_MS } from './units.ts'

/** Adds the table of what budgets count for requests whose cost is not known. */
export async function createAssumedCosts(db: Kysely<unknown>, engine: LedgerEngine): Promise<void> {
  const isSqlite = engine === 'sqlite'
  const bigint = isSqlite ? 'integer' : 'bigint'
  await db.schema
    .createTable('assumed_costs')
    .ifNotExists()
    .addColumn('id', bigint, (column) => column.primaryKey())
    .addColumn('user_id', bigint, (column) => column.notNull())
    .addColumn('key', 'integer', (column) => column.notNull())
    .addColumn('group_set', 'integer')
    .addColumn('is_copy', 'integer', (column) => column.notNull())
    .addColumn('is_own_copy', 'integer', (column) => column.notNull())
    .addColumn('cost', bigint, (column) => column.notNull())
    .modifyEnd(sql.raw(isSqlite ? 'strict' : ''))
    .execute()
}

export function toAssumedCost(
  { id, user_id, key, group_set, shadow_of, flags }: RequestRow,
  cost: number,
): LedgerTables['assumed_costs'] {
  const [is_copy, is_own_copy] = [shadow_of === null ? 0 : 1, flags & FLAGS.ownCopy ? 1 : 0]
  return { id, user_id, key, group_set, is_copy, is_own_copy, cost }
}

/** Whose costs are summed up. */
export interface CostOwner {
  readonly userId?: number | undefined
  /** The label of a key. */
  readonly key?: number | undefined
  readonly groupSets?: readonly number[] | undefined
  /** Only copies of requests for other models. */
  readonly copies?: true | undefined
}

/** Whether the cost of a request is part of the sum. Copies count for those who asked for them. */
function isCostOf(
  {
    user_id,
    key,
    group_set,
    shadow_of,
    flags,
  }: Pick<RequestRow, 'user_id' | 'key' | 'group_set' | 'shadow_of' | 'flags'>,
  owner: CostOwner,
): boolean {
  const isCopy = shadow_of !== null
  if (owner.copies) return isCopy
  const { userId, key: label, groupSets } = owner
  const isOfCaller = [userId, label, groupSets].some((filter) => filter !== undefined)
  if (isOfCaller && isCopy && !(flags & FLAGS.ownCopy)) return false
  if (userId !== undefined) return user_id === userId
  if (label !== undefined) return key === label
  return groupSets === undefined || (group_set !== null && groupSets.includes(group_set))
}

/** Sums the assumed costs of a range of ids. */
export async function sumAssumedCosts(
  db: Kysely<LedgerTables>,
  { userId, key, groupSets, copies }: CostOwner,
  from: number,
  below: number,
): Promise<number> {
  const sum = sql<number>`cast(coalesce(sum(${sql.ref('cost')}), 0) as bigint)`.as('cost')
  let rows = db.selectFrom('assumed_costs').select(sum).where('id', '>=', from).where('id', '<', below)
  if (copies) rows = rows.where('is_copy', '=', 1)
  else if ([userId, key, groupSets].some((filter) => filter !== undefined))
    rows = rows.where((is) => is.or([is('is_copy', '=', 0), is('is_own_copy', '=', 1)]))
  if (userId !== undefined) rows = rows.where('user_id', '=', userId)
  if (key !== undefined) rows = rows.where('key', '=', key)
  if (groupSets !== undefined) rows = rows.where('group_set', 'in', groupSets)
  return (await rows.executeTakeFirstOrThrow()).cost
}

/** Requests that are looked up at once. */
const MAX_REQUESTS = 200

/** Sums what these requests have cost, as far as it is part of the sum of the range. */
export async function sumCostsOf(
  db: Kysely<LedgerTables>,
  requestIds: readonly string[],
  owner: CostOwner,
  from: number,
  below: number,
): Promise<number> {
  let sum = 0
  for (let start = 0; start < requestIds.length; start += MAX_REQUESTS) {
    const part = new Set(requestIds.slice(start, start + MAX_REQUESTS))
    const ids = [...part].flatMap((requestId) => possibleRecordIds(requestId))
    if (ids.length === 0) continue
    const rows = await db
      .selectFrom('requests')
      .leftJoin('assumed_costs', 'assumed_costs.id', 'requests.id')
      .select(['requests.request_id', 'requests.user_id', 'requests.key', 'requests.group_set'])
      .select(['requests.id', 'requests.shadow_of', 'requests.flags', 'requests.cost'])
      .select('assumed_costs.cost as assumed')
      .where('requests.id', 'in', ids)
      .execute()
    for (const row of rows) {
      if (!part.has(row.request_id) || row.id < from || row.id >= below) continue
      if (isCostOf(row, owner)) sum += (row.cost ?? 0) + (row.assumed ?? 0)
    }
  }
  return sum
}

export async function sweepAssumedCosts(db: Kysely<LedgerTables>, oldestDay: number): Promise<void> {
  await db
    .deleteFrom('assumed_costs')
    .where('id', '<', firstIdAt(oldestDay * DAY_MS))
    .execute()
}
