import { createHash } from 'node:crypto'
import { decodeFeatures, EncodedFeaturesError } from './encode-features.ts'
import type { PromptFeatures } from './features.ts'
import type { LearnedModelInfo, Rating, TrainedFrom } from './rating.ts'

/** A rating whose prompt is known. */
export type CollectedRating = Omit<Rating, 'features'>

/** All ratings of a prompt. */
export interface CollectedPrompt {
  /** Identifies the features. */
  readonly key: string
  /** When it was rated first, in milliseconds. */
  readonly time: number
  readonly features: PromptFeatures
  readonly ratings: readonly CollectedRating[]
}

/** Ratings by prompt. Features are kept once for each prompt, so ratings can be added as they are read. */
export interface RatingCollection {
  add(rating: Rating): void
  /** Number of ratings that can be learned from. */
  used(): number
  /** In the order of their first ratings. */
  prompts(): readonly CollectedPrompt[]
  describe(): TrainedFrom
}

/** Skips ratings of models that the catalogue does not have, and what cannot be read. */
export function createRatingCollection(
  catalogue: Readonly<Record<string, LearnedModelInfo>>,
): RatingCollection {
  const prompts = new Map<
    string,
    { key: string; time: number; features: PromptFeatures; ratings: CollectedRating[] }
  >()
  const raters = new Map<string | number, number>()
  let since = Number.POSITIVE_INFINITY
  let until = Number.NEGATIVE_INFINITY
  let all = 0
  let used = 0

  function collect({ features: bytes, ...rating }: Rating): void {
    if (!Object.hasOwn(catalogue, rating.model) || !isScore(rating.score)) return
    const key = createHash('sha1').update(bytes).digest('base64')
    const known = prompts.get(key)
    const features = known?.features ?? readFeatures(bytes)
    if (features === undefined) return
    used++
    if (known === undefined) {
      prompts.set(key, { key, time: rating.time, features, ratings: [rating] })
    } else {
      known.time = Math.min(known.time, rating.time)
      known.ratings.push(rating)
    }
  }

  return {
    add(rating) {
      const { user, time } = rating
      all++
      since = Math.min(since, time)
      until = Math.max(until, time)
      if (user != null) raters.set(user, (raters.get(user) ?? 0) + 1)
      collect(rating)
    },
    used: () => used,
    // Prompts of one moment, as an import has them, are in no order of their own.
    prompts: () => [...prompts.values()].sort((a, b) => a.time - b.time || (a.key < b.key ? -1 : 1)),
    describe() {
      const largest = [...raters.values()].reduce((a, b) => Math.max(a, b), 0)
      return {
        ratings: used,
        skipped: all - used,
        raters: raters.size,
        largest_rater_share: all === 0 ? 0 : Math.round((largest / all) * 1000) / 1000,
        since: all === 0 ? null : new Date(since).toISOString(),
        until: all === 0 ? null : new Date(until).toISOString(),
      }
    },
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
