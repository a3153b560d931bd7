import { createHash } from 'node:crypto'
import { decodeFeatures, EncodedFeaturesError } from './encode-features.ts'
import type { PromptFeatures } from './features.ts'
import { weighRatings } from './rater-weights.ts'
import type { LearnedModelInfo, Rating } from './rating.ts'

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
  readonly skipped: number
}

const HOLDOUT_SHARE = 0.2

/**
 * Separates the newest fifth. A prompt belongs to the time when it was rated first, so that none is in both
 * parts: learning it by heart would look like learning. See docs/decisions/learned-routing.md, "The newest
 * fifth judges".
 */
export function splitRatings(
  ratings: readonly Rating[],
  catalogue: Readonly<Record<string, LearnedModelInfo>>,
): SplitRatings {
  const prompts = new Map<
    string,
    { key: string; time: number; features: PromptFeatures; ratings: Rating[] }
  >()
  let used = 0
  for (const rating of ratings) {
    if (!Object.hasOwn(catalogue, rating.model) || !isScore(rating.score)) continue
    const key = createHash('sha1').update(rating.features).digest('base64')
    const known = prompts.get(key)
    const features = known?.features ?? readFeatures(rating.features)
    if (features === undefined) continue
    used++
    if (known === undefined) {
      prompts.set(key, { key, time: rating.time, features, ratings: [rating] })
    } else {
      known.time = Math.min(known.time, rating.time)
      known.ratings.push(rating)
    }
  }
  // Prompts of one moment, as an import has them, are in no order of their own.
  const ordered = [...prompts.values()].sort((a, b) => a.time - b.time || (a.key < b.key ? -1 : 1))
  const training: typeof ordered = []
  let count = 0
  for (const prompt of ordered) {
    if (count >= used * (1 - HOLDOUT_SHARE)) break
    count += prompt.ratings.length
    training.push(prompt)
  }
  return {
    training: weigh(training),
    holdout: weigh(ordered.slice(training.length)),
    skipped: ratings.length - used,
  }
}

function isScore(score: number): boolean {
  return score >= 0 && score <= 1
}

function readFeatures(bytes: Uint8Array): PromptFeatures | undefined {
  try {
    return decodeFeatures(bytes)
  } catch (error) {
    if (error instanceof EncodedFeaturesError) return undefined
    throw error
  }
}

function weigh(
  prompts: readonly { readonly features: PromptFeatures; readonly ratings: readonly Rating[] }[],
): readonly RatedPrompt[] {
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
