import type { Kysely } from 'kysely'
import type { RatingImport } from './feedback-queries.ts'
import { QUALITY } from './give-feedback.ts'
import type { LedgerTables } from './tables.ts'

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
