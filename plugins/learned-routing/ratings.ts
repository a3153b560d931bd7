import { createHash } from 'node:crypto'
import { MAX_ROUTER_MODELS } from '../../projections/events/routers.ts'
import { clusterPrompts } from './cluster-prompts.ts'
import { decodeFeatures, EncodedFeaturesError, type PromptFeatures } from './features.ts'
import type { FittedRow } from './model.ts'
import type { LearnedModelInfo, Rating, TrainedFrom } from './rating.ts'

/** A rating whose prompt is known. */
type CollectedRating = Omit<Rating, 'features'>

/** All ratings of a prompt. */
interface CollectedPrompt {
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

/** A user, or a source of imports. */
type Rater = string | number

/** A verdict rests on at least so many raters, and on none of them for more than an equal share of these. */
export const MIN_RATERS = 4

/** Where many rate, nobody has much more than an equal share, but not less than the second of these. */
const EQUAL_SHARES = 1.25
const MIN_SHARE = 0.05

function maxShare(raters: number): number {
  if (raters < MIN_RATERS) return 1 / Math.max(1, raters)
  return Math.max(MIN_SHARE, Math.min(1 / MIN_RATERS, EQUAL_SHARES / raters))
}

/** How often all caps are applied: a cap of one part changes the shares in others. */
const ROUNDS = 4

/** Ways to divide ratings into parts, in each of which no rater has more than a share of the weight. */
interface RaterCap {
  /** The part of the rating at an index. */
  partOf(at: number): string | number
  /** What a rater always has in a part, however little others have in it. */
  readonly floor: number
}

/**
 * Returns the weights of ratings, so that no rater has more of the weight of a part than 1.25 equal shares,
 * or a twentieth, and never more than a quarter. Fewer than four raters have equal shares. The last cap holds
 * exactly. See docs/decisions/learned-routing.md, "The weight of a rater is capped".
 */
export function capRaters(
  raters: readonly Rater[],
  sizes: Float64Array,
  caps: readonly RaterCap[],
): Float64Array {
  const weights = sizes.slice()
  const share = maxShare(new Set(raters).size)
  if (share === 1) return weights
  for (let round = 0; round < ROUNDS; round++) for (const cap of caps) applyCap(weights, raters, share, cap)
  return weights
}

function applyCap(
  weights: Float64Array,
  raters: readonly Rater[],
  share: number,
  { partOf, floor }: RaterCap,
): void {
  const parts = new Map<string | number, Map<Rater, number>>()
  for (const [at, rater] of raters.entries()) {
    const sums = parts.get(partOf(at)) ?? new Map<Rater, number>()
    if (sums.size === 0) parts.set(partOf(at), sums)
    sums.set(rater, (sums.get(rater) ?? 0) + (weights[at] as number))
  }
  const caps = new Map(
    [...parts].map(([part, sums]) => [part, Math.max(floor, findCap([...sums.values()], share))]),
  )
  for (const [at, rater] of raters.entries()) {
    const sum = parts.get(partOf(at))?.get(rater) as number
    const cap = caps.get(partOf(at)) as number
    if (sum > cap) weights[at] = ((weights[at] as number) * cap) / sum
  }
}

/** The largest weight of a rater with which nobody exceeds the share. 0 for too few raters. */
function findCap(sums: readonly number[], share: number): number {
  const ascending = sums.toSorted((a, b) => a - b)
  let cap = 0
  let below = 0
  // With the cap between two sums, `below` is the weight of raters under it, and the others weigh the cap.
  for (const [index, sum] of ascending.entries()) {
    const above = ascending.length - index
    if (above * share < 1 - 1e-9) {
      cap = (share * below) / (1 - above * share)
      if (cap <= sum) break
    }
    cap = sum
    below += sum
  }
  return ascending.length * share < 1 - 1e-9 ? 0 : cap
}

/** A prompt with all its ratings. */
export interface RatedPrompt {
  readonly features: PromptFeatures
  readonly group: string | undefined
  /** Number of the kind of prompts with similar words. */
  readonly kind: number
  readonly ratings: readonly WeighedRating[]
}

interface WeighedRating {
  readonly model: string
  readonly score: number
  readonly rater: Rater
  /** For fitting. */
  readonly weight: number
  readonly propensity: number | undefined
}

interface SplitRatings {
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

/** Returns the ratings of each model, of those models that have the most. */
export function collectRows(prompts: readonly RatedPrompt[]): ReadonlyMap<string, readonly FittedRow[]> {
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
