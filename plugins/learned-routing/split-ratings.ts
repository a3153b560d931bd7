import type { CollectedPrompt } from './collect-ratings.ts'
import type { PromptFeatures } from './features.ts'
import { weighRatings } from './rater-weights.ts'

/** A prompt with all its ratings. */
export interface RatedPrompt {
  readonly features: PromptFeatures
  readonly group: string | undefined
  readonly ratings: readonly WeighedRating[]
}

export interface WeighedRating {
  readonly model: string
  readonly score: number
  readonly weight: number
  readonly propensity: number | undefined
}

export interface SplitRatings {
  readonly training: readonly RatedPrompt[]
  /** The newest fifth. */
  readonly holdout: readonly RatedPrompt[]
}

const HOLDOUT_SHARE = 0.2

/**
 * Separates the newest fifth of prompts in the order of their first ratings. A prompt belongs to the time
 * when it was rated first, so that none is in both parts: learning it by heart would look like learning. See
 * docs/decisions/learned-routing.md, "The newest fifth judges".
 */
export function splitRatings(prompts: readonly CollectedPrompt[]): SplitRatings {
  const used = prompts.reduce((sum, { ratings }) => sum + ratings.length, 0)
  let count = 0
  let end = 0
  for (const { ratings } of prompts) {
    if (count >= used * (1 - HOLDOUT_SHARE)) break
    count += ratings.length
    end++
  }
  return { training: weighPrompts(prompts.slice(0, end)), holdout: weighPrompts(prompts.slice(end)) }
}

/** Gives each rating the weight that it has among these prompts. */
export function weighPrompts(prompts: readonly CollectedPrompt[]): readonly RatedPrompt[] {
  const weights = weighRatings(prompts.flatMap(({ ratings }) => ratings))
  let at = 0
  return prompts.map(({ features, ratings }) => ({
    features,
    group: ratings[0]?.group ?? undefined,
    ratings: ratings.map(({ model, score, propensity }) => ({
      model,
      score,
      weight: weights[at++] as number,
      propensity: propensity ?? undefined,
    })),
  }))
}
