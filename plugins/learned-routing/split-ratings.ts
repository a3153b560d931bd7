import { clusterPrompts } from './cluster-prompts.ts'
import type { CollectedPrompt } from './collect-ratings.ts'
import type { PromptFeatures } from './features.ts'
import { capRaters, MIN_RATERS, type Rater } from './rater-weights.ts'

/** A prompt with all its ratings. */
export interface RatedPrompt {
  readonly features: PromptFeatures
  readonly group: string | undefined
  /** Number of the kind of prompts with similar words. */
  readonly kind: number
  readonly ratings: readonly WeighedRating[]
}

export interface WeighedRating {
  readonly model: string
  readonly score: number
  readonly rater: Rater
  /** For fitting. */
  readonly weight: number
  readonly propensity: number | undefined
}

export interface SplitRatings {
  readonly training: readonly CollectedPrompt[]
  /** The newest fifth of each rater. */
  readonly holdout: readonly CollectedPrompt[]
}

const HOLDOUT_SHARE = 0.2

/**
 * Separates the newest fifth of the prompts of each rater, in the order of their first ratings. A prompt
 * belongs to the rater who rated it first, so that none is in both parts: learning it by heart would look
 * like learning. See docs/decisions/learned-routing.md, "The newest fifth of each rater judges".
 */
export function splitRatings(prompts: readonly CollectedPrompt[]): SplitRatings {
  const byRater = new Map<Rater, CollectedPrompt[]>()
  for (const prompt of prompts) {
    const own = byRater.get(firstRater(prompt)) ?? []
    if (own.length === 0) byRater.set(firstRater(prompt), own)
    own.push(prompt)
  }
  const newest = new Set(
    [...byRater.values()].flatMap((own) =>
      own.filter((_, at) => (at + 0.5) / own.length >= 1 - HOLDOUT_SHARE),
    ),
  )
  return {
    training: prompts.filter((prompt) => !newest.has(prompt)),
    holdout: prompts.filter((prompt) => newest.has(prompt)),
  }
}

/** Ratings without a user are those of one source. */
function raterOf({ user }: { readonly user?: Rater | null | undefined }): Rater {
  return user ?? 'import'
}

function firstRater({ ratings }: CollectedPrompt): Rater {
  const [first, ...others] = ratings.map((rating) => ({ time: rating.time, rater: raterOf(rating) }))
  if (first === undefined) return 'import'
  const isBefore = (a: typeof first, b: typeof first) =>
    a.time < b.time || (a.time === b.time && String(a.rater) < String(b.rater))
  return others.reduce((earliest, each) => (isBefore(each, earliest) ? each : earliest), first).rater
}

/** Kinds of prompts in which the weight of a rater is capped. */
const KINDS = 16
/** Ratings of one rater that always count in full: in all, so that a team can begin, and of each kind. */
const FLOOR = 100
const KIND_FLOOR = 25

/** Gives each rating the weight that it has for fitting among these prompts, and each prompt its kind. */
export function weighPrompts(prompts: readonly CollectedPrompt[], seed: number): readonly RatedPrompt[] {
  const ratings = prompts.flatMap((prompt, index) => prompt.ratings.map((rating) => ({ rating, index })))
  const raters = ratings.map(({ rating }) => raterOf(rating))
  const sizes = new Float64Array(ratings.length).fill(1)
  const overall = { partOf: () => 0, floor: FLOOR }
  let weights = capRaters(raters, sizes, [overall])
  let kinds: Uint8Array = new Uint8Array(prompts.length)
  if (new Set(raters).size >= MIN_RATERS) {
    // By weight, so that nobody decides alone what a kind is.
    const shares = new Float64Array(prompts.length)
    for (const [at, { index }] of ratings.entries())
      shares[index] = (shares[index] as number) + (weights[at] as number)
    kinds = clusterPrompts(prompts, { clusters: KINDS, seed, weights: shares })
    const byKind = {
      partOf: (at: number) => kinds[ratings[at]?.index as number] as number,
      floor: KIND_FLOOR,
    }
    weights = capRaters(raters, sizes, [byKind, overall])
  }
  let at = 0
  return prompts.map(({ features, ratings: own }, index) => ({
    features,
    group: own[0]?.group ?? undefined,
    kind: kinds[index] as number,
    ratings: own.map(({ model, score, propensity }) => ({
      model,
      score,
      rater: raters[at] as Rater,
      weight: weights[at++] as number,
      propensity: propensity ?? undefined,
    })),
  }))
}

/** Of a kind, in a verdict: a fifth of the ratings are judged by. */
const VERDICT_KIND_FLOOR = KIND_FLOOR * HOLDOUT_SHARE

/**
 * Returns the weight of each prompt in a verdict: nobody has more than a quarter of the whole, nor of the
 * ratings of one model. A prompt counts once, however many ratings it has.
 */
export function weighForVerdict(prompts: readonly RatedPrompt[]): Float64Array {
  const ratings = prompts.flatMap((prompt, index) =>
    prompt.ratings.map(({ rater, model }) => ({ rater, model, index, size: 1 / prompt.ratings.length })),
  )
  const sizes = Float64Array.from(ratings, ({ size }) => size)
  const weights = capRaters(
    ratings.map(({ rater }) => rater),
    sizes,
    [
      { partOf: (at) => prompts[ratings[at]?.index as number]?.kind as number, floor: VERDICT_KIND_FLOOR },
      { partOf: (at) => ratings[at]?.model as string, floor: 0 },
      { partOf: () => 0, floor: 0 },
    ],
  )
  const hasWeight = weights.some((weight) => weight > 0)
  const result = new Float64Array(prompts.length)
  for (const [at, { index }] of ratings.entries())
    result[index] = (result[index] as number) + ((hasWeight ? weights : sizes)[at] as number)
  return result
}

/** How many raters have rated the prompts, or one model. */
export function countRaters(prompts: readonly RatedPrompt[], model?: string): number {
  const raters = prompts.flatMap(({ ratings }) =>
    ratings.filter((rating) => model === undefined || rating.model === model).map(({ rater }) => rater),
  )
  return new Set(raters).size
}
