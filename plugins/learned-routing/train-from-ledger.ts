import { MAX_ROUTER_BYTES } from '../../core/events/router-events.ts'
import type { RatingPage, RatingQuery } from '../ledger/store/feedback-queries.ts'
import { createRatingCollection, type RatingCollection } from './collect-ratings.ts'
import { trainCollected } from './train.ts'
import type { TrainingJob, TrainingOutcome } from './trainer.ts'

const PAGE_SIZE = 2000

/** What the names of the models may take beside their weights. */
const NAMES_BYTES = 50_000

/** The ledger, as far as it keeps ratings. */
interface RatingSource {
  ratings(query: RatingQuery): Promise<RatingPage>
}

/** Reads the ratings of a scope and trains a router from them. */
export async function trainFromLedger(
  { scope, since, minRatings, models }: TrainingJob,
  ledger: RatingSource,
): Promise<TrainingOutcome> {
  const catalogue = Object.fromEntries(models.map(({ id, cost, quality }) => [id, { cost, quality }]))
  const collection = createRatingCollection(catalogue)
  const group = 'groupId' in scope ? { groupId: scope.groupId } : {}
  await readRatings(ledger, { since, limit: PAGE_SIZE, ...group }, collection)
  if (collection.used() < minRatings) return { type: 'too_few', ratings: collection.used() }
  const trained = trainCollected(collection, { catalogue, maxBytes: MAX_ROUTER_BYTES - NAMES_BYTES })
  return {
    type: 'trained',
    router: {
      scope,
      models: trained.models,
      figures: { ...trained.figures },
      trainedFrom: { ...trained.trained_from },
    },
  }
}

async function readRatings(
  ledger: RatingSource,
  query: RatingQuery,
  collection: RatingCollection,
): Promise<void> {
  let after: number | undefined
  do {
    const page = await ledger.ratings({ ...query, ...(after !== undefined && { after }) })
    for (const { features, userId, givenBy, propensity, groups, ...rating } of page.ratings)
      collection.add({
        ...rating,
        features: Buffer.from(features, 'base64'),
        // All that one operator imports is the opinion of one.
        user: userId > 0 ? userId : `import by ${givenBy}`,
        ...(propensity !== null && { propensity }),
        ...(groups !== null && { group: groups }),
      })
    after = page.next
  } while (after !== undefined)
}
