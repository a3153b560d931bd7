import { type Kysely, type RawBuilder, type SelectQueryBuilder, sql } from 'kysely'
import { QUALITY } from './feedback.ts'
import { cannotBeStored, containsText, findGroupSets, findLabel, readRecords } from './find-records.ts'
import type { RequestFilter, RequestPage, RequestQuery } from './queries.ts'
import { UNINDEXED_ID } from './read-copies.ts'
import { firstIdAt, IDS_PER_SLOT, type IdRange, slotOf } from './record-id.ts'
import type { LedgerEngine, LedgerTables } from './tables.ts'
import { ANY_RULE } from './write-records.ts'

/** Returns one page of the requests that pass the filter, newest first. */
export async function listRecords(
  db: Kysely<LedgerTables>,
  engine: LedgerEngine,
  { limit, ...query }: RequestQuery,
): Promise<RequestPage> {
  // One more than asked for, which tells whether there is another page.
  const ids = await listIds(db, engine, { ...query, limit: limit + 1 })
  const records = await readRecords(db, ids.slice(0, limit))
  const last = records.at(-1)
  return { records, ...(ids.length > limit && last !== undefined && { next: last.id }) }
}

/** Returns the ids of the newest requests that pass the filter, newest first. */
export async function listIds(
  db: Kysely<LedgerTables>,
  engine: LedgerEngine,
  { filter, before, limit }: RequestQuery,
): Promise<readonly number[]> {
  const selected = await select(db, engine, { filter, before })
  if (selected === undefined) return []
  const { conditions, range, access } = selected
  const read = (branch: AccessPath['branches'][number]) =>
    selectIds(db, engine, conditions, access.name, branch, range, limit).execute()
  const parts = await Promise.all(access.branches.map(read))
  const ids = parts.flat().map(({ id }) => id)
  return ids.sort((a, b) => b - a).slice(0, limit)
}

/** Returns how many requests pass the filter, up to a maximum. */
export async function countRecords(
  db: Kysely<LedgerTables>,
  engine: LedgerEngine,
  { filter, before }: Omit<RequestQuery, 'limit'>,
): Promise<number> {
  const selected = await select(db, engine, { filter, before })
  if (selected === undefined) return 0
  const { conditions, range, access } = selected
  return countRows(db, engine, conditions, access, range, MAX_COUNT)
}

const MAX_COUNT = 1_000_000

/** How the rows of a query are found; undefined if no row can pass the filter. */
async function select(
  db: Kysely<LedgerTables>,
  engine: LedgerEngine,
  { filter, before }: Pick<RequestQuery, 'filter'> & { readonly before: number | undefined },
) {
  const conditions = await resolveFilter(db, filter)
  if (conditions === undefined) return undefined
  const range = {
    from: filter.since === undefined ? 0 : firstIdAt(filter.since),
    below: Math.min(
      filter.until === undefined ? Number.MAX_SAFE_INTEGER : firstIdAt(filter.until),
      before ?? Number.MAX_SAFE_INTEGER,
    ),
  }
  return { conditions, range, access: await chooseAccess(db, engine, conditions, range) }
}

/**
 * The way to the rows: an index in which the rows of one value are in the order of time, and one branch for
 * each value. See docs/decisions/ledger.md, "Lists read one index in the order of time".
 */
interface AccessPath {
  readonly name: AccessName
  readonly branches: readonly (number | undefined)[]
}

type AccessName =
  | 'session'
  | 'rule'
  | 'score'
  | 'user_id'
  | 'key'
  | 'group_set'
  | 'target'
  | 'endpoint'
  | 'error'
  | 'status'
  | 'time'

/** Rows up to which the rows of a value are counted. */
const PROBE_ROWS = 2000

/** Chooses the index with the fewest rows in the range. */
async function chooseAccess(
  db: Kysely<LedgerTables>,
  engine: LedgerEngine,
  conditions: Conditions,
  range: IdRange,
): Promise<AccessPath> {
  const { rule, score, error, status, text, session, ...equal } = conditions
  // A session has few requests.
  if (session !== undefined) return { name: 'session', branches: [undefined] }
  const paths: AccessPath[] = []
  if (score) paths.push({ name: 'score', branches: [undefined] })
  if (rule) paths.push({ name: 'rule', branches: [undefined] })
  if (Array.isArray(error)) paths.push({ name: 'error', branches: error })
  for (const name of ['key', 'user_id', 'group_set', 'target', 'endpoint'] as const)
    if (equal[name]) paths.push({ name, branches: equal[name] })
  if (status && isFailure(status)) paths.push({ name: 'status', branches: status })
  else if (error === 'many') paths.push({ name: 'status', branches: await listFailedStatuses(db) })
  const [only = { name: 'time', branches: [undefined] } as const] = paths
  if (paths.length < 2) return only
  const probes = await Promise.all(
    paths.map(async (path) => {
      // Only what the index itself decides: how many rows have to be read.
      const { rule, score } = conditions
      const only = {
        ...(path.name === 'rule' && rule && { rule }),
        ...(path.name === 'score' && score && { score }),
        copies: 'include' as const,
      }
      return { path, rows: await countRows(db, engine, only, path, range, PROBE_ROWS) }
    }),
  )
  return probes.reduce((best, probe) => (probe.rows < best.rows ? probe : best)).path
}

/** Rows with these statuses always have an error. */
function isFailure(status: readonly number[]): boolean {
  return status.every((value) => value >= 400)
}

/** The statuses of failed requests: skips from one to the next in the index. */
async function listFailedStatuses(db: Kysely<LedgerTables>): Promise<readonly number[]> {
  const statuses: number[] = []
  for (let last = 0; ; ) {
    const next = await db
      .selectFrom('requests')
      .select('status')
      .where('error', 'is not', null)
      .where('status', '>', last)
      .orderBy('status')
      .limit(1)
      .executeTakeFirst()
    if (next === undefined) return statuses
    last = next.status
    statuses.push(last)
  }
}

async function countRows(
  db: Kysely<LedgerTables>,
  engine: LedgerEngine,
  conditions: Conditions,
  { name, branches }: AccessPath,
  range: IdRange,
  max: number,
): Promise<number> {
  let rows = 0
  for (const branch of branches) {
    const probe = selectIds(db, engine, conditions, name, branch, range, max).as('probe')
    const found = await db
      .selectFrom(probe)
      .select(({ fn }) => fn.countAll<number>().as('rows'))
      .executeTakeFirstOrThrow()
    rows += Number(found.rows)
    if (rows >= max) break
  }
  return rows
}

type IdQuery = SelectQueryBuilder<LedgerTables, 'requests', { id: number }>

/** Selects the newest ids of one branch of an access path that meet all conditions. */
function selectIds(
  db: Kysely<LedgerTables>,
  engine: LedgerEngine,
  conditions: Conditions,
  access: AccessName,
  branch: number | undefined,
  range: IdRange,
  limit: number,
): IdQuery {
  const { rule, score, text, error, copies, session, ...equal } = conditions
  const others: RawBuilder<boolean>[] = []
  if (session !== undefined) others.push(sql<boolean>`${sql.ref('requests.session')} = ${session}`)
  if (copies === 'only') others.push(sql<boolean>`${sql.ref('requests.shadow_of')} is not null`)
  else if (copies === undefined) others.push(sql<boolean>`${sql.ref('requests.shadow_of')} is null`)
  for (const [name, values] of Object.entries(equal))
    if (name !== access && values) others.push(isOneOf(engine, `requests.${name}`, values))
  if (Array.isArray(error) && access !== 'error') others.push(isOneOf(engine, 'requests.error', error))
  if (error === 'many') {
    const isListed = sql<boolean>`${sql.ref('requests.error')} in (${selectErrors(db, text ?? '')})`
    // PostgreSQL would join all failed requests of the range with the errors, rather than stop at the limit.
    others.push(engine === 'postgres' ? sql<boolean>`(${isListed} or false)` : isListed)
  }
  if (score && access !== 'score') others.push(sql<boolean>`exists ${selectScore(db, score)}`)
  if (access === 'rule' && rule) return selectRuleHits(db, rule, others, range, limit)
  let ids = selectRequests(db, access === 'score' ? score : undefined)
    .select('requests.id as id')
    .where('requests.id', '>=', range.from)
    .where('requests.id', '<', range.below)
    .orderBy('requests.id', 'desc')
    .limit(limit)
  if (branch !== undefined) ids = ids.where(sql.ref(`requests.${access}`), '=', branch)
  if (access === 'status') ids = ids.where('requests.error', 'is not', null)
  if (others.length > 0) ids = ids.where(sql.join(others, sql` and `) as RawBuilder<boolean>)
  if (rule) ids = ids.where(hasRule(db, rule))
  return ids
}

/** A condition for requests to which such a rule did something. */
function hasRule(db: Kysely<LedgerTables>, rule: NonNullable<Conditions['rule']>): RawBuilder<boolean> {
  let applied = db
    .selectFrom('trace_rules')
    .select(sql<number>`1`.as('one'))
    .where('trace_rules.trace', '=', sql.ref<number>('requests.trace'))
  for (const [name, id] of Object.entries(rule))
    applied = applied.where(sql.ref(`trace_rules.${name}`), '=', id)
  return sql<boolean>`exists ${applied}`
}

/** Selects all requests, or those with such a score for quality. */
function selectRequests(db: Kysely<LedgerTables>, score: Conditions['score']) {
  if (score === undefined) return db.selectFrom('requests')
  const scored = db
    .selectFrom('feedback')
    .innerJoin('requests', 'requests.id', 'feedback.request')
    .where('feedback.name', '=', QUALITY)
    .where('feedback.score', '>=', score.min)
    .where('feedback.score', '<=', score.max)
  // Only the tables of the query differ, which matter while it is built.
  return scored as unknown as SelectQueryBuilder<LedgerTables, 'requests', object>
}

/** Selects the score of a request, if it is such a one. */
function selectScore(db: Kysely<LedgerTables>, { min, max }: NonNullable<Conditions['score']>) {
  return db
    .selectFrom('feedback')
    .select('feedback.score')
    .where('feedback.request', '=', sql.ref<number>('requests.id'))
    .where('feedback.name', '=', QUALITY)
    .where('feedback.score', '>=', min)
    .where('feedback.score', '<=', max)
}

/**
 * Selects requests in which the rule did something: by the slots of time with such a trace, newest first. See
 * docs/decisions/ledger.md, "Rules are recorded as a trace".
 */
function selectRuleHits(
  db: Kysely<LedgerTables>,
  rule: NonNullable<Conditions['rule']>,
  others: readonly RawBuilder<boolean>[],
  range: IdRange,
  limit: number,
): IdQuery {
  const { kind, rule_id, action } = rule
  let hits = joinSlots(db, range)
    .where('slots.rule_id', '=', rule_id ?? ANY_RULE)
    .select('requests.id as id')
    .orderBy('slots.slot', 'desc')
    .orderBy('requests.id', 'desc')
    .limit(limit)
  const label = rule_id === undefined ? action : kind
  if (label !== undefined) hits = hits.where('slots.kind', '=', label)
  const conditions = rule_id !== undefined && action !== undefined ? [...others, hasRule(db, rule)] : others
  if (conditions.length > 0) hits = hits.where(sql.join([...conditions], sql` and `) as RawBuilder<boolean>)
  // Only the tables of the query differ, which matter while it is built.
  return hits as unknown as IdQuery
}

/** On SQLite, the sign keeps the planner from using the column's index instead of the chosen one. */
function isOneOf(engine: LedgerEngine, column: string, values: readonly number[]): RawBuilder<boolean> {
  const reference = engine === 'sqlite' ? sql`+${sql.ref(column)}` : sql.ref(column)
  return sql<boolean>`${reference} in (${sql.join([...values])})`
}

/** A filter in the numbers that rows have. Lists are never empty. */
export interface Conditions {
  readonly user_id?: readonly number[]
  readonly key?: readonly number[]
  readonly group_set?: readonly number[]
  readonly target?: readonly number[]
  readonly endpoint?: readonly number[]
  readonly session?: string
  readonly status?: readonly number[]
  /** The errors with a text; `many` if there are too many to list. */
  readonly error?: readonly number[] | 'many'
  readonly text?: string
  readonly copies?: RequestFilter['copies']
  readonly rule?: { readonly kind?: number; readonly rule_id?: number; readonly action?: number }
  /** Of the quality. */
  readonly score?: { readonly min: number; readonly max: number }
}

const MAX_LISTED_ERRORS = 50

/** Returns undefined if nothing can pass the filter. */
async function resolveFilter(
  db: Kysely<LedgerTables>,
  filter: RequestFilter,
): Promise<Conditions | undefined> {
  const { userId, keyId, rule, action, status, model, provider, endpoint, text } = filter
  const { minScore, maxScore, sessionId } = filter
  const label = async (value: string | undefined) =>
    value === undefined ? undefined : ((await findLabel(db, value)) ?? UNKNOWN)
  const [key, path, kind, actionLabel] = await Promise.all([keyId, endpoint, rule?.kind, action].map(label))
  const target = (model ?? provider) ? await findTargets(db, provider, model) : undefined
  const errors = text === undefined ? undefined : await findErrors(db, text)
  const groupSets = await findGroupSets(db, filter)
  const isEmpty = target?.length === 0 || groupSets?.length === 0 || errors?.length === 0
  if (sessionId !== undefined && cannotBeStored(sessionId)) return undefined
  if (isEmpty || [key, path, kind, actionLabel].includes(UNKNOWN)) return undefined
  return {
    ...(userId !== undefined && { user_id: [userId] }),
    ...(key !== undefined && { key: [key] }),
    ...(groupSets && { group_set: groupSets }),
    ...(target && { target }),
    ...(path !== undefined && { endpoint: [path] }),
    ...(status !== undefined && { status: [status] }),
    ...(sessionId !== undefined && { session: sessionId }),
    ...(filter.copies && { copies: filter.copies }),
    ...(errors && {
      error: errors.length > MAX_LISTED_ERRORS ? ('many' as const) : errors,
      text: text ?? '',
    }),
    ...((rule || action) && {
      rule: {
        ...(rule && { rule_id: rule.id }),
        ...(kind !== undefined && { kind }),
        ...(actionLabel !== undefined && { action: actionLabel }),
      },
    }),
    ...((minScore !== undefined || maxScore !== undefined) && {
      score: { min: minScore ?? 0, max: maxScore ?? 1 },
    }),
  }
}

/** No label has this id. */
const UNKNOWN = 0

async function findTargets(
  db: Kysely<LedgerTables>,
  provider: string | undefined,
  model: string | undefined,
): Promise<readonly number[]> {
  if (cannotBeStored(`${provider}${model}`)) return []
  let query = db.selectFrom('targets').select('id')
  if (provider !== undefined) query = query.where('provider', '=', provider)
  if (model !== undefined) query = query.where('model', '=', model)
  return (await query.execute()).map(({ id }) => id)
}

async function findErrors(db: Kysely<LedgerTables>, text: string): Promise<readonly number[]> {
  if (cannotBeStored(text)) return []
  const found = await selectErrors(db, text)
    .limit(MAX_LISTED_ERRORS + 1)
    .execute()
  return found.map(({ id }) => id)
}

export function selectErrors(db: Kysely<LedgerTables>, text: string) {
  return db
    .selectFrom('errors')
    .select('id')
    .where((is) => is.or([containsText('errors.code', text), containsText('errors.message', text)]))
}

/** Joins the slots of traces with their requests in a range. SQLite keeps the order of a cross join. */
export function joinSlots(db: Kysely<LedgerTables>, { from, below }: IdRange) {
  const firstId = sql<number>`${sql.ref('slots.slot')} * ${sql.lit(IDS_PER_SLOT)}`
  const endId = sql<number>`(${sql.ref('slots.slot')} + 1) * ${sql.lit(IDS_PER_SLOT)}`
  return (
    db
      .selectFrom('trace_slots as slots')
      .crossJoin('requests')
      .where('slots.slot', '>=', slotOf(from))
      .where('slots.slot', '<=', slotOf(below - 1))
      .whereRef('requests.trace', '=', 'slots.trace')
      .where('requests.id', '>=', firstId)
      .where('requests.id', '<', endId)
      // Engines must not search the index with this range in place of that of the slot.
      .where(UNINDEXED_ID, '>=', from)
      .where(UNINDEXED_ID, '<', below)
  )
}
