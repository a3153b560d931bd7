import { type Kysely, sql } from 'kysely'
import { type CostOwner, sumAssumedCosts, sumCostsOf } from './assumed-costs.ts'
import { findGroupSets, findLabel } from './find-records.ts'
import type { CostQuery, CostSum, UsageDimension, UsageGroup, UsageQuery } from './queries.ts'
import { readArmUsage } from './read-arm-usage.ts'
import { firstIdAt } from './record-id.ts'
import { UNINDEXED_ID } from './sum-requests.ts'
import { FLAGS, type LedgerTables, MEASURES, type UsageMeasures } from './tables.ts'
import { HOUR_MS } from './units.ts'
import { selectUsage } from './usage-source.ts'

/** How a dimension is selected and grouped. */
const EXPRESSIONS: Readonly<Record<UsageDimension, Readonly<Record<string, string>>>> = {
  user: { user: 'usage.user_id' },
  group: { group: 'group_members.group_id' },
  key: { key: 'keys.value' },
  model: { model: 'targets.model' },
  provider: { provider: 'targets.provider' },
  rule: { rule_kind: 'kinds.value', rule_id: 'usage.rule_id' },
  // See `readArmUsage`.
  arm: {},
  hour: { hour: 'usage.hour' },
  day: { day: 'usage.hour' },
}

interface SummedRow extends UsageMeasures {
  readonly user?: number
  readonly group?: number
  readonly key?: string | null
  readonly model?: string | null
  readonly provider?: string | null
  readonly rule_kind?: string | null
  readonly rule_id?: number
  readonly arm?: string
  readonly hour?: number
  readonly day?: number
}

/**
 * Returns the usage by group, sorted by its dimensions: whole hours, from tables that are kept up with each
 * batch. See docs/decisions/ledger.md, "Usage is summed up by hour and by day when it is written".
 */
export async function readUsage(
  db: Kysely<LedgerTables>,
  { groupBy, since, until, userId, keyId, groupId, limit }: UsageQuery,
): Promise<readonly UsageGroup[]> {
  const key = keyId === undefined ? undefined : await findLabel(db, keyId)
  const groupSets = groupId === undefined ? undefined : await findGroupSets(db, groupId)
  if ((keyId !== undefined && key === undefined) || groupSets?.length === 0) return []
  if (groupBy.includes('arm')) {
    const rows = await readArmUsage(db, { groupBy, since, until, userId, key, groupSets, limit })
    return (rows as readonly SummedRow[]).map((row) => toGroup(row, groupBy))
  }
  const isByCaller = [userId, key, groupSets].some((filter) => filter !== undefined) || groupBy.some(isCaller)
  const isByRule = groupBy.includes('rule')
  const needsHours = groupBy.includes('hour')
  let query = db
    .selectFrom(
      selectUsage(db, { since, until, userId, key, groupSets, isByCaller, isByRule, needsHours }).as('usage'),
    )
    .limit(limit)
    .select(MEASURES.map((name) => sql<number>`cast(sum(${sql.ref(`usage.${name}`)}) as bigint)`.as(name)))
  if (groupBy.includes('key')) query = query.leftJoin('labels as keys', 'keys.id', 'usage.key')
  if (groupBy.includes('group'))
    query = query.innerJoin('group_members', 'group_members.group_set', 'usage.group_set')
  if (isByRule) query = query.leftJoin('labels as kinds', 'kinds.id', 'usage.kind')
  if (groupBy.includes('model') || groupBy.includes('provider'))
    query = query.leftJoin('targets', 'targets.id', 'usage.target')
  for (const dimension of groupBy) {
    for (const [name, column] of Object.entries(EXPRESSIONS[dimension])) {
      const value =
        dimension === 'day' ? sql<number>`${sql.ref(column)} / 24` : sql<number>`${sql.ref(column)}`
      query = query.select(value.as(name)).groupBy(value).orderBy(value)
    }
  }
  // Without groups there is one row, whose sums are null if there was no request.
  const rows = (await query.execute()) as readonly unknown[] as readonly SummedRow[]
  return rows.filter(({ requests }) => requests !== null).map((row) => toGroup(row, groupBy))
}

function isCaller(dimension: UsageDimension): boolean {
  return dimension === 'user' || dimension === 'key' || dimension === 'group'
}

function toGroup(row: SummedRow, groupBy: readonly UsageDimension[]): UsageGroup {
  const { user, group, key, model = null, provider = null, rule_kind, rule_id, arm, hour, day } = row
  return {
    ...(user !== undefined && { user }),
    ...(group !== undefined && { group }),
    ...(key !== undefined && { key: key ?? '' }),
    ...(groupBy.includes('model') && { model }),
    ...(groupBy.includes('provider') && { provider }),
    ...(rule_id !== undefined && { rule: { kind: rule_kind ?? '', id: rule_id } }),
    ...(arm !== undefined && { arm }),
    ...(hour !== undefined && { hour }),
    ...(day !== undefined && { day }),
    requests: row.requests,
    errors: row.errors,
    cacheHits: row.cache_hits,
    unknownCosts: row.unknown_costs,
    input: row.input,
    cached: row.cached,
    cacheWrite: row.cache_write,
    output: row.output,
    reasoning: row.reasoning,
    cost: row.cost,
    ratings: row.ratings,
    score: row.score,
    signals: {
      cut_off: row.cut_off,
      invalid_tool_call: row.invalid_tool_call,
      schema_mismatch: row.schema_mismatch,
      asked_again: row.asked_again,
    },
  }
}

/** Returns what was spent in a range of time, exactly, as of one moment. */
export function sumCosts(db: Kysely<LedgerTables>, query: CostQuery): Promise<CostSum> {
  return db
    .transaction()
    .setIsolationLevel('repeatable read')
    .execute(async (snapshot) => {
      const { keyId, groupId, userId, copies, except = [] } = query
      const key = keyId === undefined ? undefined : await findLabel(snapshot, keyId)
      const groupSets = groupId === undefined ? undefined : await findGroupSets(snapshot, groupId)
      if ((keyId !== undefined && key === undefined) || groupSets?.length === 0) return NOTHING
      const owner = { userId, key, groupSets, copies }
      const { cost, unknownCosts } = copies
        ? await sumCopies(snapshot, query)
        : await sumKnownCosts(snapshot, query, owner)
      const below = query.until === undefined ? Number.MAX_SAFE_INTEGER : firstIdAt(query.until)
      const range = { from: firstIdAt(query.since), below }
      const assumed = await sumAssumedCosts(snapshot, owner, range)
      const excepted = await sumCostsOf(snapshot, except, owner, range)
      return { cost: cost + assumed - excepted, unknownCosts }
    })
}

const NOTHING: CostSum = { cost: 0, unknownCosts: 0 }

/** Sums whole hours by hour, and the rest by request. */
async function sumKnownCosts(
  db: Kysely<LedgerTables>,
  query: CostQuery,
  { userId, key, groupSets }: CostOwner,
): Promise<CostSum> {
  const { since, until } = query
  const endHour = until === undefined ? Number.MAX_SAFE_INTEGER : Math.floor(until / HOUR_MS)
  const firstHour = Math.min(Math.ceil(since / HOUR_MS), endHour)
  const isByCaller = [userId, key, groupSets].some((filter) => filter !== undefined)
  const range = { since: firstHour, until: endHour }
  const hours = db
    .selectFrom(selectUsage(db, { ...range, userId, key, groupSets, isByCaller }).as('usage'))
    .select([sumOf('usage.cost').as('cost'), sumOf('usage.unknown_costs').as('unknown')])
  const ofCaller = (costs: CostSelection): CostSelection => {
    if (userId !== undefined) return costs.where('requests.user_id', '=', userId)
    if (key !== undefined) return costs.where('requests.key', '=', key)
    return groupSets === undefined ? costs : costs.where('requests.group_set', 'in', groupSets)
  }
  const isBefore = sql<boolean>`${sql.ref('requests.id')} < ${firstIdAt(firstHour * HOUR_MS)}`
  let rest = ofCaller(selectCosts(db)).where('id', '>=', firstIdAt(since)).where('shadow_of', 'is', null)
  if (until === undefined) rest = rest.where(isBefore)
  else {
    const isAfter = sql<boolean>`${sql.ref('requests.id')} >= ${firstIdAt(endHour * HOUR_MS)}`
    rest = rest.where('id', '<', firstIdAt(until)).where(sql<boolean>`(${isBefore} or ${isAfter})`)
  }
  const ofOwnCopies = (costs: CostSelection) => ofCaller(costs).where(isOwnCopy, '!=', 0)
  const [ofHours, ofRest, ofCopies] = await Promise.all([
    hours.executeTakeFirstOrThrow(),
    rest.executeTakeFirstOrThrow(),
    sumCopies(db, query, isByCaller ? ofOwnCopies : undefined),
  ])
  return {
    cost: ofHours.cost + ofRest.cost + ofCopies.cost,
    unknownCosts: Number(ofHours.unknown) + Number(ofRest.unknown) + ofCopies.unknownCosts,
  }
}

/** Usage by hour does not have copies. */
async function sumCopies(
  db: Kysely<LedgerTables>,
  { since, until }: Pick<CostQuery, 'since' | 'until'>,
  ofCaller?: (costs: CostSelection) => CostSelection,
): Promise<CostSum> {
  // SQLite would read all requests of a caller, and most ledgers have no copies.
  const any = await db
    .selectFrom('requests')
    .select('id')
    .where('shadow_of', 'is not', null)
    .limit(1)
    .execute()
  if (any.length === 0) return NOTHING
  // Indexes of callers are in the order of ids: with an expression, all requests of a caller would be read.
  const id = ofCaller ? sql<number>`${sql.ref('requests.id')}` : UNINDEXED_ID
  const selected = ofCaller ? ofCaller(selectCosts(db)) : selectCosts(db)
  let copies = selected.where('shadow_of', 'is not', null).where(id, '>=', firstIdAt(since))
  if (until !== undefined) copies = copies.where(id, '<', firstIdAt(until))
  const { cost, unknown } = await copies.executeTakeFirstOrThrow()
  return { cost, unknownCosts: Number(unknown) }
}

const isOwnCopy = sql<number>`${sql.ref('requests.flags')} & ${sql.lit(FLAGS.ownCopy)}`

type CostSelection = ReturnType<typeof selectCosts>

function selectCosts(db: Kysely<LedgerTables>) {
  const cost = sql.ref('requests.cost')
  const unknown = sql<number>`coalesce(sum(case when ${cost} is null then 1 else 0 end), 0)`
  return db.selectFrom('requests').select([sumOf('requests.cost').as('cost'), unknown.as('unknown')])
}

function sumOf(column: string) {
  return sql<number>`cast(coalesce(sum(${sql.ref(column)}), 0) as bigint)`
}
