import { type Kysely, type SelectQueryBuilder, sql } from 'kysely'
import { type CostOwner, sumAssumedCosts, sumCostsOf } from './assumed-costs.ts'
import { findGroupSets, findLabel } from './find-records.ts'
import type { CostQuery, CostSum, UsageDimension, UsageGroup, UsageQuery } from './queries.ts'
import { selectMeasures, selectRequests, UNINDEXED_ID } from './read-copies.ts'
import { DAY_MS, firstIdAt, HOUR_MS, HOURS_PER_DAY, LEDGER_EPOCH_MS } from './record-id.ts'
import { FLAGS, type LedgerTables, MEASURES, type UsageMeasures } from './tables.ts'

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
  filter: UsageQuery,
): Promise<readonly UsageGroup[]> {
  const { groupBy, since, until, userId, keyId, anyGroup, limit } = filter
  const key = keyId === undefined ? undefined : await findLabel(db, keyId)
  const groupSets = await findGroupSets(db, filter)
  if ((keyId !== undefined && key === undefined) || groupSets?.length === 0) return []
  if (groupBy.includes('arm')) {
    const rows = await readArmUsage(db, { groupBy, since, until, userId, key, groupSets, anyGroup, limit })
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
  if (groupBy.includes('group') && anyGroup) query = query.where(isOneOfGroups(anyGroup))
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

function isOneOfGroups(ids: readonly number[]) {
  return sql<boolean>`${sql.ref('group_members.group_id')} in (${sql.join([...ids])})`
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
      const { keyId, userId, copies, except = [] } = query
      const key = keyId === undefined ? undefined : await findLabel(snapshot, keyId)
      const groupSets = await findGroupSets(snapshot, query)
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

/** What a sum of usage needs to know. */
interface UsageScope {
  /** Hours since 1970; `until` is not part of the range. */
  readonly since: number
  readonly until: number
  readonly userId?: number | undefined
  /** The label of a key. */
  readonly key?: number | undefined
  /** The sets of a group. */
  readonly groupSets?: readonly number[] | undefined
  /** Users, keys or groups are told apart. */
  readonly isByCaller: boolean
  readonly isByRule?: boolean
  /** Hours are told apart. */
  readonly needsHours?: boolean
}

type HourTable = 'usage_hours' | 'usage_totals' | 'usage_rules'
type DayTable = 'usage_days' | 'usage_rule_days'

/** The columns of the chosen tables. Those that a table does not have must not be used. */
type UsageSource = SelectQueryBuilder<LedgerTables, never, LedgerTables['usage_rules']>

/**
 * Selects the rows to sum up: from a table by day for the whole days of the range, if there is one, and by
 * hour for the rest. See docs/decisions/ledger.md, "Usage is summed up by hour and by day when it is
 * written".
 */
function selectUsage(db: Kysely<LedgerTables>, scope: UsageScope): UsageSource {
  const { since, until } = scope
  const { hours, days, columns } = chooseTables(scope)
  const selectHours = (from: number, to: number) => selectRows(db, hours, 'hour', columns, scope, from, to)
  const firstDay = Math.ceil(since / HOURS_PER_DAY)
  const endDay = Math.floor(until / HOURS_PER_DAY)
  if (days === undefined || firstDay >= endDay) return selectHours(since, until)
  let source = selectRows(db, days, 'day', columns, scope, firstDay, endDay)
  if (since < firstDay * HOURS_PER_DAY) source = source.unionAll(selectHours(since, firstDay * HOURS_PER_DAY))
  if (until > endDay * HOURS_PER_DAY) source = source.unionAll(selectHours(endDay * HOURS_PER_DAY, until))
  return source
}

interface UsageTables {
  readonly hours: HourTable
  readonly days: DayTable | undefined
  /** The key without the time. */
  readonly columns: readonly string[]
}

function chooseTables({ isByCaller, isByRule = false, needsHours = false }: UsageScope): UsageTables {
  const rule = isByRule ? ['kind', 'rule_id'] : []
  const caller = isByCaller ? ['user_id', 'key', 'group_set'] : []
  const columns = [...rule, ...caller, 'target']
  if (isByRule)
    return { hours: 'usage_rules', days: isByCaller || needsHours ? undefined : 'usage_rule_days', columns }
  // There are few totals: by day they would not be fewer by much.
  if (!isByCaller) return { hours: 'usage_totals', days: undefined, columns }
  return { hours: 'usage_hours', days: needsHours ? undefined : 'usage_days', columns }
}

function selectRows(
  db: Kysely<LedgerTables>,
  table: HourTable | DayTable,
  time: 'hour' | 'day',
  columns: readonly string[],
  { userId, key, groupSets }: UsageScope,
  from: number,
  to: number,
): UsageSource {
  const hour = time === 'hour' ? sql<number>`hour` : sql<number>`day * ${sql.lit(HOURS_PER_DAY)}`
  let rows = db
    .selectFrom(table as 'usage_rules')
    .select([hour.as('hour'), ...([...columns, ...MEASURES] as (keyof LedgerTables['usage_rules'])[])])
    .where(sql.ref(time), '>=', from)
    .where(sql.ref(time), '<', to)
  if (userId !== undefined) rows = rows.where('user_id', '=', userId)
  if (key !== undefined) rows = rows.where('key', '=', key)
  if (groupSets !== undefined) rows = rows.where('group_set', 'in', groupSets)
  // Only the tables of the query differ, which matter while it is built.
  return rows as unknown as UsageSource
}

const EPOCH_HOURS = LEDGER_EPOCH_MS / HOUR_MS
const idsOf = (ms: number) => sql.lit(firstIdAt(LEDGER_EPOCH_MS + ms))
const ID = sql.ref('requests.id')

/** How a dimension is selected and grouped, by the name that it has in rows. */
const ARM_EXPRESSIONS: Readonly<Record<UsageDimension, Readonly<Record<string, ReturnType<typeof sql>>>>> = {
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
  readonly anyGroup: readonly number[] | undefined
}

/**
 * Returns the usage of requests that a split has drawn a model for. See docs/decisions/ledger.md, "Arms and
 * copies are summed up from requests".
 */
async function readArmUsage(
  db: Kysely<LedgerTables>,
  { groupBy, since, until, userId, key, groupSets, anyGroup, limit }: ResolvedFilter,
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
  if (groupBy.includes('group') && anyGroup) query = query.where(isOneOfGroups(anyGroup))
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
    for (const [name, value] of Object.entries(ARM_EXPRESSIONS[dimension]))
      query = query.select(value.as(name)).groupBy(value).orderBy(value)
  return query.execute()
}

/** When a key was last used. */
export interface LastUse {
  readonly key: string
  /** Unix time of the beginning of the hour, in milliseconds. */
  readonly hour: number
}

/**
 * Returns the hour of the last request of each of the keys that was used. Days have an index by key, which
 * hours do not. See docs/decisions/operators.md, "The last use of a key comes from the ledger".
 */
export async function readLastUse(
  db: Kysely<LedgerTables>,
  keyIds: readonly string[],
): Promise<readonly LastUse[]> {
  if (keyIds.length === 0) return []
  const lastDays = db
    .selectFrom('labels as keys')
    .where('keys.value', 'in', keyIds)
    .select(({ selectFrom }) => [
      'keys.id as id',
      'keys.value as key',
      selectFrom('usage_days')
        .whereRef('usage_days.key', '=', 'keys.id')
        .select(({ fn }) => fn.max('usage_days.day').as('day'))
        .as('day'),
      selectFrom('usage_days')
        .whereRef('usage_days.key', '=', 'keys.id')
        .select('usage_days.user_id')
        .limit(1)
        .as('user_id'),
    ])
  const rows = await db
    .selectFrom(lastDays.as('last'))
    .where('last.day', 'is not', null)
    .select(({ selectFrom, ref }) => [
      'last.key as key',
      selectFrom('usage_hours as usage')
        .whereRef('usage.user_id', '=', 'last.user_id')
        .whereRef('usage.key', '=', 'last.id')
        .where('usage.hour', '>=', sql<number>`${ref('last.day')} * ${sql.lit(HOURS_PER_DAY)}`)
        .select(sql<number>`cast(max(usage.hour) as bigint)`.as('hour'))
        .as('hour'),
    ])
    .execute()
  return rows.flatMap(({ key, hour }) => (hour === null ? [] : [{ key, hour: Number(hour) * HOUR_MS }]))
}

/** When a user sent a request last. */
export interface UserLastUse {
  readonly user: number
  /** Unix time of the beginning of the hour, in milliseconds. */
  readonly hour: number
}

/** Returns the hour of the last request of each of the users who sent one. */
export async function readLastUseOfUsers(
  db: Kysely<LedgerTables>,
  userIds: readonly number[],
): Promise<readonly UserLastUse[]> {
  if (userIds.length === 0) return []
  const lastDays = db
    .selectFrom('usage_days')
    .where('user_id', 'in', userIds)
    .groupBy('user_id')
    .select(({ fn }) => ['user_id', fn.max('day').as('day')])
  const rows = await db
    .selectFrom(lastDays.as('last'))
    .select(({ selectFrom, ref }) => [
      'last.user_id as user',
      selectFrom('usage_hours as usage')
        .whereRef('usage.user_id', '=', 'last.user_id')
        .where('usage.hour', '>=', sql<number>`${ref('last.day')} * ${sql.lit(HOURS_PER_DAY)}`)
        .select(sql<number>`cast(max(usage.hour) as bigint)`.as('hour'))
        .as('hour'),
    ])
    .execute()
  return rows.flatMap(({ user, hour }) =>
    hour === null ? [] : [{ user: Number(user), hour: Number(hour) * HOUR_MS }],
  )
}
