import type { Kysely } from 'kysely'
import type {
  FeedbackPage,
  FeedbackQuery,
  RatingPage,
  RatingQuery,
  StoredFeedback,
} from './feedback-queries.ts'
import { findGroupSets } from './find-records.ts'
import { QUALITY } from './give-feedback.ts'
import { firstIdAt, timeOfRecordId } from './record-id.ts'
import type { LedgerTables } from './tables.ts'

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
  const groupSets = groupId === undefined ? undefined : await findGroupSets(db, groupId)
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
