import { MAX_ROUTER_MODELS } from '../../core/events/router-events.ts'
import { BUCKETS } from './features.ts'
import { type FittedRow, fitModel } from './fit-model.ts'
import { judgeRouter } from './judge.ts'
import { decodeWeights, encodeWeights } from './model.ts'
import { countByRater } from './rater-weights.ts'
import type { Rating, TrainedFrom, TrainedRouter, TrainingOptions } from './rating.ts'
import { type RatedPrompt, splitRatings } from './split-ratings.ts'

const DEFAULT_MAX_BYTES = 900_000
/** Of a word in base64: two bytes of weight, one or two of gap. */
const BYTES_PER_WORD = 5

/**
 * Trains a version on the older ratings and judges it on the newest. What was judged is what is activated:
 * the newest fifth is not learned from. Pure: the same ratings and seed yield the same version. Takes
 * seconds, so it belongs in a thread.
 */
export function trainRouter(
  ratings: readonly Rating[],
  { catalogue, maxBytes = DEFAULT_MAX_BYTES, seed = 1 }: TrainingOptions,
): TrainedRouter {
  const { training, holdout, skipped } = splitRatings(ratings, catalogue)
  const rowsOf = collectRows(training)
  const maxWords = Math.min(BUCKETS, Math.floor(maxBytes / BYTES_PER_WORD / Math.max(1, rowsOf.size)))
  const models = Object.fromEntries(
    [...rowsOf].map(([model, rows]) => [
      model,
      { ratings: rows.length, weights: encodeWeights(fitModel(rows), maxWords) },
    ]),
  )
  const figures = judgeRouter({
    // As they will be read, with their precision.
    models: Object.fromEntries(
      Object.entries(models).map(([model, { ratings, weights }]) => [
        model,
        { ratings, weights: decodeWeights(weights) },
      ]),
    ),
    trainedMeans: Object.fromEntries([...rowsOf].map(([model, rows]) => [model, meanScore(rows)])),
    holdout,
    catalogue,
    seed,
  })
  return { models, figures, trained_from: describeRatings(ratings, skipped) }
}

function collectRows(prompts: readonly RatedPrompt[]): ReadonlyMap<string, readonly FittedRow[]> {
  const rows = new Map<string, FittedRow[]>()
  for (const { features, ratings } of prompts) {
    for (const { model, score, weight } of ratings) {
      const own = rows.get(model) ?? []
      if (own.length === 0) rows.set(model, own)
      own.push({ features, score, weight })
    }
  }
  // The order of models must not depend on that of the ratings.
  const sorted = [...rows].sort(([a], [b]) => (a < b ? -1 : 1))
  const most = sorted.toSorted(([, a], [, b]) => b.length - a.length).slice(0, MAX_ROUTER_MODELS)
  return new Map(sorted.filter((model) => most.includes(model)))
}

function meanScore(rows: readonly FittedRow[]): number {
  const whole = rows.reduce((sum, { weight }) => sum + weight, 0)
  return rows.reduce((sum, { score, weight }) => sum + score * weight, 0) / whole
}

function describeRatings(ratings: readonly Rating[], skipped: number): TrainedFrom {
  const counts = [...countByRater(ratings).values()]
  let since = Number.POSITIVE_INFINITY
  let until = Number.NEGATIVE_INFINITY
  for (const { time } of ratings) {
    since = Math.min(since, time)
    until = Math.max(until, time)
  }
  const isEmpty = ratings.length === 0
  return {
    ratings: ratings.length - skipped,
    skipped,
    raters: counts.length,
    largest_rater_share: isEmpty
      ? 0
      : Math.round((counts.reduce((a, b) => Math.max(a, b), 0) / ratings.length) * 1000) / 1000,
    since: isEmpty ? null : new Date(since).toISOString(),
    until: isEmpty ? null : new Date(until).toISOString(),
  }
}
