import { type Kysely, type RawBuilder, sql } from 'kysely'
import { DAY_MS, firstIdAt, type IdRange, possibleRecordIds } from './record-id.ts'
import { FLAGS, type LedgerTables, type RequestRow } from './tables.ts'

type AssumedRow = Pick<RequestRow, 'id' | 'user_id' | 'key' | 'group_set' | 'shadow_of' | 'flags'>

export function toAssumedCost(
  { id, user_id, key, group_set, shadow_of, flags }: AssumedRow,
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

/** Which rows of a table are copies, and which of these the user has asked for. */
const COPIES = {
  requests: [
    sql<boolean>`${sql.ref('requests.shadow_of')} is not null`,
    sql<boolean>`${sql.ref('requests.flags')} & ${sql.lit(FLAGS.ownCopy)} <> 0`,
  ],
  assumed_costs: [
    sql<boolean>`${sql.ref('assumed_costs.is_copy')} = 1`,
    sql<boolean>`${sql.ref('assumed_costs.is_own_copy')} = 1`,
  ],
} as const

/** Whether the cost of a row is part of the sum. Copies count for those who asked for them. */
function isCostOf(
  { userId, key, groupSets, copies }: CostOwner,
  table: keyof typeof COPIES,
): RawBuilder<boolean> {
  const [isCopy, isOwnCopy] = COPIES[table]
  const column = (name: string) => sql.ref(`${table}.${name}`)
  const conditions: RawBuilder<boolean>[] = []
  if (userId !== undefined) conditions.push(sql`${column('user_id')} = ${userId}`)
  if (key !== undefined) conditions.push(sql`${column('key')} = ${key}`)
  if (groupSets !== undefined) conditions.push(sql`${column('group_set')} in (${sql.join(groupSets)})`)
  if (copies) conditions.push(isCopy)
  else if (conditions.length > 0) conditions.push(sql`(not (${isCopy}) or ${isOwnCopy})`)
  return conditions.length === 0 ? sql.lit(true) : sql.join(conditions, sql` and `)
}

const sumOfAssumed = sql<number>`coalesce(sum(${sql.ref('assumed_costs.cost')}), 0)`

/** Sums the assumed costs of a range of ids. */
export async function sumAssumedCosts(
  db: Kysely<LedgerTables>,
  owner: CostOwner,
  { from, below }: IdRange,
): Promise<number> {
  const { cost } = await db
    .selectFrom('assumed_costs')
    .select(sql<number>`cast(${sumOfAssumed} as bigint)`.as('cost'))
    .where('id', '>=', from)
    .where('id', '<', below)
    .where(isCostOf(owner, 'assumed_costs'))
    .executeTakeFirstOrThrow()
  return cost
}

/** Requests that are looked up at once. */
const MAX_REQUESTS = 200

/** Sums what these requests have cost, as far as it is part of the sum of the range. */
export async function sumCostsOf(
  db: Kysely<LedgerTables>,
  requestIds: readonly string[],
  owner: CostOwner,
  { from, below }: IdRange,
): Promise<number> {
  const unique = [...new Set(requestIds)]
  let sum = 0
  for (let start = 0; start < unique.length; start += MAX_REQUESTS) {
    const part = unique.slice(start, start + MAX_REQUESTS)
    const ids = part.flatMap(possibleRecordIds).filter((id) => id >= from && id < below)
    if (ids.length === 0) continue
    const known = sql<number>`coalesce(sum(${sql.ref('requests.cost')}), 0)`
    const { cost } = await db
      .selectFrom('requests')
      .leftJoin('assumed_costs', 'assumed_costs.id', 'requests.id')
      .select(sql<number>`cast(${known} + ${sumOfAssumed} as bigint)`.as('cost'))
      .where('requests.id', 'in', ids)
      .where('requests.request_id', 'in', part)
      .where(isCostOf(owner, 'requests'))
      .executeTakeFirstOrThrow()
    sum += cost
  }
  return sum
}

export async function sweepAssumedCosts(db: Kysely<LedgerTables>, oldestDay: number): Promise<void> {
  await db
    .deleteFrom('assumed_costs')
    .where('id', '<', firstIdAt(oldestDay * DAY_MS))
    .execute()
}
