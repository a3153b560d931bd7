import type { Kysely, Transaction } from 'kysely'
import { addToUsage, type UsageChange } from './add-to-usage.ts'
import type { FeedbackOutcome, GivenFeedback } from './feedback-queries.ts'
import { findRecordKey } from './find-records.ts'
import type { AnswerSignal } from './record.ts'
import { type LedgerEngine, type LedgerTables, MEASURES, SIGNALS, type UsageMeasures } from './tables.ts'
import { SCORE_UNITS } from './units.ts'

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
