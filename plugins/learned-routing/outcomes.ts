import { type RatedPrompt, weighForVerdict } from './split-ratings.ts'

/** The score of each candidate for each prompt, estimated where it was not rated. */
export interface Outcomes {
  readonly prompts: readonly RatedPrompt[]
  /** By prompt. */
  readonly weights: Float64Array
  /** By prompt, then by candidate. Means over prompts are unbiased; single ones may be beyond 0 and 1. */
  readonly scores: readonly Float64Array[]
  /** By prompt, then by candidate: what the version predicts. */
  readonly expected: readonly Float64Array[]
  readonly ratings: readonly number[]
  readonly complete: boolean
}

/** A rating of a rare choice stands for at most this many prompts. */
const MAX_INVERSE_PROPENSITY = 20

/**
 * Estimates the scores of all candidates, doubly robust: where a model was not rated, the probability that
 * the version predicts stands; where it was, the difference from it counts the more, the less probable the
 * rating was. This is the probability that was recorded when exploring, else the share of prompts with a
 * rating of the model. See docs/decisions/learned-routing.md, "What was not rated is estimated".
 */
export function estimateOutcomes(
  holdout: readonly RatedPrompt[],
  candidates: readonly string[],
  predictAll: (prompt: RatedPrompt) => Float64Array,
): Outcomes {
  const known = holdout.flatMap((prompt) => {
    const scores = candidates.map((model) => meanRating(prompt, model))
    return scores.some((score) => score !== undefined)
      ? [{ prompt, scores, expected: predictAll(prompt) }]
      : []
  })
  const weights = weighForVerdict(known.map(({ prompt }) => prompt))
  const whole = sum(weights)
  const shares = candidates.map(
    (_, candidate) => sum(weights.filter((_, at) => known[at]?.scores[candidate] !== undefined)) / whole,
  )
  return {
    prompts: known.map(({ prompt }) => prompt),
    weights,
    expected: known.map(({ expected }) => expected),
    scores: known.map(({ scores, expected }) =>
      expected.map((probability, candidate) => {
        const rated = scores[candidate]
        if (rated === undefined) return probability
        const share = Math.max(rated.propensity ?? shares[candidate] ?? 1, 1 / MAX_INVERSE_PROPENSITY)
        // Exactly the score if all were rated.
        return share === 1 ? rated.score : probability + (rated.score - probability) / share
      }),
    ),
    ratings: candidates.map((_, candidate) => known.filter(({ scores }) => scores[candidate]).length),
    complete: known.every(({ scores }) => scores.every((score) => score !== undefined)),
  }
}

function meanRating({ ratings }: RatedPrompt, model: string) {
  const own = ratings.filter((rating) => rating.model === model)
  if (own.length === 0) return undefined
  return { score: meanOf(own.map(({ score }) => score)), propensity: own[0]?.propensity }
}

function meanOf(values: readonly number[]): number {
  return sum(values) / values.length
}

function sum(values: Iterable<number>): number {
  let total = 0
  for (const value of values) total += value
  return total
}
