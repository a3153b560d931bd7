import { MAX_ROUTER_BYTES } from '../../core/events/router-events.ts'
import type { Rating } from './rating.ts'
import { trainRouter } from './train.ts'
import type { TrainingJob, TrainingOutcome } from './trainer.ts'

const PAGE_SIZE = 2000

/** What figures and the rest of the event may take. */
const FIGURES_BYTES = 100_000

/** The ledger, as far as it keeps ratings. */
interface RatingSource {
  ratings(query: {
    readonly since: number
    readonly limit: number
    readonly groupId?: number
    readonly after?: number
  }): Promise<{ readonly ratings: readonly StoredRating[]; readonly next?: number }>
}

interface StoredRating {
  readonly model: string
  readonly score: number
  /** 0: an import of an operator. */
  readonly userId: number
  readonly time: number
  /** In base64. */
  readonly features: string
  readonly propensity: number | null
  /** Ids of groups, separated by commas. */
  readonly groups: string | null
}

/** Reads the ratings of a scope and trains a router from them. */
export async function trainFromLedger(
  { scope, since, minRatings, models }: TrainingJob,
  ledger: RatingSource,
): Promise<TrainingOutcome> {
  const ratings = await readAllRatings(ledger, since, 'groupId' in scope ? scope.groupId : undefined)
  const catalogue = Object.fromEntries(models.map(({ id, cost, quality }) => [id, { cost, quality }]))
  const known = ratings.filter(({ model }) => Object.hasOwn(catalogue, model))
  if (known.length < minRatings) return { type: 'too_few', ratings: known.length }
  const trained = trainRouter(known, { catalogue, maxBytes: MAX_ROUTER_BYTES - FIGURES_BYTES })
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

async function readAllRatings(
  ledger: RatingSource,
  since: number,
  groupId: number | undefined,
): Promise<readonly Rating[]> {
  const ratings: Rating[] = []
  let after: number | undefined
  do {
    const page = await ledger.ratings({
      since,
      limit: PAGE_SIZE,
      ...(groupId !== undefined && { groupId }),
      ...(after !== undefined && { after }),
    })
    for (const { features, userId, propensity, groups, ...rating } of page.ratings)
      ratings.push({
        ...rating,
        features: Buffer.from(features, 'base64'),
        ...(userId > 0 && { user: userId }),
        ...(propensity !== null && { propensity }),
        ...(groups !== null && { group: groups }),
      })
    after = page.next
  } while (after !== undefined)
  return ratings
}
