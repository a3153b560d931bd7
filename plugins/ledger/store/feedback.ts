import type { Kysely, Transaction } from 'kysely'
import { addToUsage, type UsageChange } from './add-to-usage.ts'
import type {
  FeedbackOutcome,
  FeedbackPage,
  FeedbackQuery,
  GivenFeedback,
  RatingImport,
  RatingPage,
  RatingQuery,
  StoredFeedback,
} from './feedback-queries.ts'
import { findGroupSets, findRecordKey } from './find-records.ts'
import type { AnswerSignal } from './record.ts'
import { firstIdAt, SCORE_UNITS, timeOfRecordId } from './record-id.ts'
import { type LedgerEngine, type LedgerTables, MEASURES, SIGNALS, type UsageMeasures } from './tables.ts'

/** The name of the score that usage shows and routers learn from. */
export const QUALITY = 'quality'

/** Names of scores per request, so that nobody can fill the disk with them. */
const MAX_NAMES = 20

/**
 * Stores what somebody says about a reply, in place of what was said under the same name before. See
 * docs/decisions/feedback.md, "Scores are summed up when they are given".
 */
export async function giveFeedback(
  db: Kysely<LedgerTables>,
  engine: LedgerEngine,
  { requestId, userId, name, score, comment, givenBy, givenAt }: GivenFeedback,
): Promise<FeedbackOutcome> {
  return db.transaction().execute(async (transaction) => {
    const id = await findRecordKey(transaction, requestId)
    const request = id === undefined ? undefined : await lockRequest(transaction, engine, id)
    if (request === undefined || (userId !== undefined && request.user_id !== userId))
      return { outcome: 'unknown' }
    const earlier = await transaction
      .selectFrom('feedback')
      .select(['name', 'score'])
      .where('request', '=', request.id)
      .execute()
    const replaced = earlier.find((feedback) => feedback.name === name)
    if (replaced === undefined && earlier.length >= MAX_NAMES) return { outcome: 'too_many_names' }
    const values = { user_id: request.user_id, score, comment, given_by: givenBy, given_at: givenAt }
    await transaction
      .insertInto('feedback')
      .values({ request: request.id, name, ...values })
      .onConflict((conflict) => conflict.columns(['request', 'name']).doUpdateSet(values))
      .execute()
    if (name === QUALITY)
      await addChange(transaction, request, {
        ratings: replaced === undefined ? 1 : 0,
        score: toUnits(score) - toUnits(replaced?.score ?? 0),
      })
    return { outcome: 'given', userId: request.user_id }
  })
}

/** Adds a signal to the records of requests that do not have it. */
export async function addSignal(
  db: Kysely<LedgerTables>,
  engine: LedgerEngine,
  requestIds: readonly string[],
  signal: AnswerSignal,
): Promise<void> {
  if (requestIds.length === 0) return
  await db.transaction().execute(async (transaction) => {
    // In order, so that gateways that write at the same time lock rows in the same order.
    for (const requestId of [...requestIds].sort()) await addTo(transaction, requestId)
  })

  async function addTo(transaction: Transaction<LedgerTables>, requestId: string): Promise<void> {
    const id = await findRecordKey(transaction, requestId)
    const request = id === undefined ? undefined : await lockRequest(transaction, engine, id)
    if (request === undefined || (request.signals & SIGNALS[signal]) !== 0) return
    const signals = request.signals | SIGNALS[signal]
    await transaction.updateTable('requests').set({ signals }).where('id', '=', request.id).execute()
    await addChange(transaction, request, { [signal]: 1 })
  }
}

/** Gateways that share a database must not add the same change twice. */
function lockRequest(db: Transaction<LedgerTables>, engine: LedgerEngine, id: number) {
  return db
    .selectFrom('requests')
    .select(['id', 'user_id', 'key', 'group_set', 'target', 'shadow_of', 'trace', 'signals'])
    .where('id', '=', id)
    .$if(engine === 'postgres', (query) => query.forUpdate())
    .executeTakeFirst()
}

async function addChange(
  db: Transaction<LedgerTables>,
  request: UsageChange['request'] & { readonly trace: number | null },
  change: Partial<UsageMeasures>,
): Promise<void> {
  const measures = { ...NO_CHANGE, ...change }
  await addToUsage(db, [{ request, rules: await findRules(db, request.trace), measures }])
}

const NO_CHANGE = Object.fromEntries(MEASURES.map((measure) => [measure, 0])) as unknown as UsageMeasures

/** Returns the rules that did something to a request. */
async function findRules(db: Transaction<LedgerTables>, trace: number | null): Promise<UsageChange['rules']> {
  if (trace === null) return []
  return db.selectFrom('trace_rules').select(['kind', 'rule_id']).where('trace', '=', trace).execute()
}

function toUnits(score: number): number {
  return Math.round(score * SCORE_UNITS)
}

/** Returns a page of the feedback that passes the filter: newest requests first. Imports are left out. */
export async function listFeedback(
  db: Kysely<LedgerTables>,
  { filter, before, limit }: FeedbackQuery,
): Promise<FeedbackPage> {
  const { userId, name, model, minScore, maxScore, since, until } = filter
  let query = db
    .selectFrom('feedback')
    .innerJoin('requests', 'requests.id', 'feedback.request')
    .leftJoin('targets', 'targets.id', 'requests.target')
    .select([
      'feedback.request',
      'feedback.name',
      'feedback.user_id',
      'feedback.score',
      'feedback.comment',
      'feedback.given_by',
      'feedback.given_at',
      'requests.request_id',
      'targets.provider',
      'targets.model',
    ])
    .where('feedback.request', '>=', since === undefined ? 0 : firstIdAt(since))
    .orderBy('feedback.request', 'desc')
    .orderBy('feedback.name')
    .limit(limit + 1)
  if (until !== undefined) query = query.where('feedback.request', '<', firstIdAt(until))
  if (userId !== undefined) query = query.where('feedback.user_id', '=', userId)
  if (name !== undefined) query = query.where('feedback.name', '=', name)
  if (model !== undefined) query = query.where('targets.model', '=', model)
  if (minScore !== undefined) query = query.where('feedback.score', '>=', minScore)
  if (maxScore !== undefined) query = query.where('feedback.score', '<=', maxScore)
  if (before !== undefined)
    query = query
      .where('feedback.request', '<=', before.request)
      .where((is) =>
        is.or([is('feedback.request', '<', before.request), is('feedback.name', '>', before.name)]),
      )
  const rows = await query.execute()
  const feedback = rows.slice(0, limit).map(
    (row): StoredFeedback => ({
      requestId: row.request_id,
      userId: row.user_id,
      provider: row.provider,
      model: row.model,
      name: row.name,
      score: row.score,
      comment: row.comment,
      givenBy: row.given_by,
      givenAt: row.given_at,
    }),
  )
  const last = rows[limit - 1]
  const hasMore = rows.length > limit && last !== undefined
  return { feedback, ...(hasMore && { next: { request: last.request, name: last.name } }) }
}

/** Returns a page of the prompts with a score for quality, whose features are kept. */
export async function readRatings(
  db: Kysely<LedgerTables>,
  { groupId, since, after, limit }: RatingQuery,
): Promise<RatingPage> {
  const groupSets = groupId === undefined ? undefined : await findGroupSets(db, { groupId })
  if (groupSets?.length === 0) return { ratings: [] }
  let query = db
    .selectFrom('feedback')
    .innerJoin('rated_prompts', 'rated_prompts.id', 'feedback.request')
    .leftJoin('requests', 'requests.id', 'feedback.request')
    .leftJoin('group_sets', 'group_sets.id', 'requests.group_set')
    .where('feedback.name', '=', QUALITY)
    .where('feedback.given_at', '>=', since)
    .select([
      'feedback.request',
      'feedback.score',
      'feedback.user_id',
      'feedback.given_by',
      'feedback.given_at',
      'rated_prompts.model',
      'rated_prompts.features',
      'requests.router_propensity as propensity',
      'group_sets.value as groups',
    ])
    .orderBy('feedback.request')
    .limit(limit + 1)
  if (after !== undefined) query = query.where('feedback.request', '>', after)
  if (groupSets !== undefined) query = query.where('requests.group_set', 'in', groupSets)
  const rows = await query.execute()
  const ratings = rows.slice(0, limit).map(({ request, features, ...row }) => ({
    model: row.model,
    score: row.score,
    userId: row.user_id,
    givenBy: row.given_by,
    time: request > 0 ? timeOfRecordId(request) : row.given_at,
    features: Buffer.from(features).toString('base64'),
    propensity: row.propensity,
    groups: row.groups,
  }))
  const last = rows[limit - 1]
  return { ratings, ...(rows.length > limit && last !== undefined && { next: last.request }) }
}

/** The user of what was imported. */
const NOBODY = 0

/** Stores imported ratings, in place of those of the same prompts and models. */
export async function importRatings(
  db: Kysely<LedgerTables>,
  { ratings, givenBy, givenAt }: RatingImport,
): Promise<void> {
  await db.transaction().execute(async (transaction) => {
    for (const { id, model, score, features } of ratings) {
      await transaction
        .insertInto('rated_prompts')
        .values({ id, user_id: NOBODY, model, features: Buffer.from(features, 'base64') })
        .onConflict((conflict) => conflict.column('id').doNothing())
        .execute()
      const values = { user_id: NOBODY, score, comment: null, given_by: givenBy, given_at: givenAt }
      await transaction
        .insertInto('feedback')
        .values({ request: id, name: QUALITY, ...values })
        .onConflict((conflict) => conflict.columns(['request', 'name']).doUpdateSet(values))
        .execute()
    }
  })
}

const DELETED_ROWS = 1000

/** Deletes some of the imported ratings, and returns how many. */
export async function deleteImported(db: Kysely<LedgerTables>): Promise<number> {
  return db.transaction().execute(async (transaction) => {
    const imported = await transaction
      .selectFrom('rated_prompts')
      .select('id')
      .where('id', '<', 0)
      .limit(DELETED_ROWS)
      .execute()
    if (imported.length === 0) return 0
    const ids = imported.map(({ id }) => id)
    await transaction.deleteFrom('feedback').where('request', 'in', ids).execute()
    await transaction.deleteFrom('rated_prompts').where('id', 'in', ids).execute()
    return ids.length
  })
}
