import { createRatingCollection, type RatingCollection } from './collect-ratings.ts'
import { collectRows } from './collect-rows.ts'
import { BUCKETS } from './features.ts'
import type { KnownKindsFigures, NewKindsFigures, RouterFigures } from './figures.ts'
import { type FittedRow, fitModel } from './fit-model.ts'
import { judgeRouter } from './judge.ts'
import { describeHarm, judgeNewKinds } from './judge-new-kinds.ts'
import { decodeWeights, encodeWeights } from './model.ts'
import type { Rating, TrainedRouter, TrainingOptions } from './rating.ts'
import { splitRatings, weighPrompts } from './split-ratings.ts'

const DEFAULT_MAX_BYTES = 900_000
/** Of a word in base64: two bytes of weight, one or two of gap. */
const BYTES_PER_WORD = 5

/** As `trainCollected`, from ratings in memory. */
export function trainRouter(ratings: Iterable<Rating>, options: TrainingOptions): TrainedRouter {
  const collection = createRatingCollection(options.catalogue)
  for (const rating of ratings) collection.add(rating)
  return trainCollected(collection, options)
}

/**
 * Judges on the newest ratings of each rater what is learned from the older ones, then fits the version to
 * all of them. See docs/decisions/learned-routing.md, "The version is fitted to all ratings". Pure: the same
 * ratings and seed yield the same version. Takes seconds, so it belongs in a thread.
 */
export function trainCollected(
  collection: RatingCollection,
  { catalogue, maxBytes = DEFAULT_MAX_BYTES, seed = 1 }: TrainingOptions,
): TrainedRouter {
  const prompts = collection.prompts()
  const parts = splitRatings(prompts)
  const [training, holdout] = [weighPrompts(parts.training, seed), weighPrompts(parts.holdout, seed)]
  const rowsOf = collectRows(training)
  const judged = fitModels(rowsOf, maxBytes)
  const figures = judgeRouter({
    // As they would be read, with their precision.
    models: Object.fromEntries(
      Object.entries(judged).map(([model, { ratings, weights }]) => [
        model,
        { ratings, weights: decodeWeights(weights) },
      ]),
    ),
    trainedMeans: Object.fromEntries([...rowsOf].map(([model, rows]) => [model, meanScore(rows)])),
    holdout,
    catalogue,
    seed,
  })
  const all = weighPrompts(prompts, seed)
  const newKinds = figures.better_on_known_kinds
    ? judgeNewKinds(all, { candidates: figures.candidates.map(({ model }) => model), catalogue, seed })
    : null
  const models = fitModels(collectRows(all), maxBytes)
  const countOf = (fitted: typeof models) =>
    Object.values(fitted).reduce((sum, { ratings }) => sum + ratings, 0)
  const fits = { judged: countOf(judged), stored: countOf(models) }
  return {
    models,
    figures: { ...combineVerdicts(figures, newKinds), fits },
    trained_from: collection.describe(),
  }
}

/** A version is better if it is so on known kinds of prompts, and does no harm on new ones. */
function combineVerdicts(figures: KnownKindsFigures, newKinds: NewKindsFigures | null): RouterFigures {
  const better = newKinds?.holds ?? false
  return {
    better,
    ...figures,
    reason: newKinds === null || better ? figures.reason : describeHarm(newKinds),
    new_kinds: newKinds,
  }
}

function fitModels(rowsOf: ReadonlyMap<string, readonly FittedRow[]>, maxBytes: number) {
  const maxWords = Math.min(BUCKETS, Math.floor(maxBytes / BYTES_PER_WORD / Math.max(1, rowsOf.size)))
  return Object.fromEntries(
    [...rowsOf].map(([model, rows]) => [
      model,
      { ratings: rows.length, weights: encodeWeights(fitModel(rows), maxWords) },
    ]),
  )
}

function meanScore(rows: readonly FittedRow[]): number {
  const whole = rows.reduce((sum, { weight }) => sum + weight, 0)
  return rows.reduce((sum, { score, weight }) => sum + score * weight, 0) / whole
}
