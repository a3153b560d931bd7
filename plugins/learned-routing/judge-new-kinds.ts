import {
  type Contest,
  createContest,
  createStrategies,
  estimateOutcomes,
  meanScore,
  type Strategy,
} from './baselines.ts'
import { clusterPrompts } from './cluster-prompts.ts'
import type { Interval, NewKindsFigures } from './figures.ts'
import { effectiveCount, predictFigures } from './judge.ts'
import { fitModel, predict } from './model.ts'
import type { LearnedModelInfo } from './rating.ts'
import { collectRows, countRaters, MIN_RATERS, type RatedPrompt } from './ratings.ts'

/** Kinds of prompts, and parts of whole kinds. Each part is judged by a fit to the others. */
const KINDS = 8
const FOLDS = 4
/** A poor start of the clustering mixes kinds, and mixed kinds hide how much they differ. */
const STARTS = 10
/** With fewer of about the same size, nothing is known of how much kinds differ. */
const MIN_EFFECTIVE_KINDS = 4
/** So many prompts show how it is, and keep a training short. */
const MAX_PROMPTS = 3000
const MIN_FOLD_PROMPTS = 50
/** How far below a baseline is no harm: a share of the gap between the cheapest and the best model. */
const TOLERANCE = 0.01

interface NewKindsOptions {
  /** By ascending cost, as the judge lists them. */
  readonly candidates: readonly string[]
  readonly catalogue: Readonly<Record<string, LearnedModelInfo>>
  readonly seed: number
}

/**
 * Judges how versions fare on kinds of prompts that they were not trained on. See
 * docs/decisions/learned-routing.md, "Whole kinds of prompts are held out, too".
 */
export function judgeNewKinds(prompts: readonly RatedPrompt[], options: NewKindsOptions): NewKindsFigures {
  const chosen = thinOut(prompts)
  const kinds = clusterPrompts(chosen, { clusters: KINDS, starts: STARTS, seed: options.seed })
  const folds = assignFolds(kinds).map((members) =>
    judgeFold(
      chosen.filter((_, at) => !members.includes(kinds[at] as number)),
      chosen.flatMap((prompt, at) =>
        members.includes(kinds[at] as number) ? [{ ...prompt, kind: kinds[at] as number }] : [],
      ),
      options,
    ),
  )
  const used = folds.filter((fold) => fold !== undefined)
  const names = used[0]?.strategies.slice(1).map(({ name }) => name) ?? []
  // By weight, as `compareFolds` counts: many prompts of one user, whose weight is capped, are no large kind.
  const weightOf = (kind: number) => used.reduce((sum, fold) => sum + weightOfKind(fold, kind), 0)
  const present = [...new Set(kinds)].filter((kind) => weightOf(kind) > 0)
  const sizes = present.map(weightOf)
  if (used.length < folds.length || effectiveCount(sizes) < MIN_EFFECTIVE_KINDS)
    return { prompts: chosen.length, gains: {}, holds: false }
  const measured = predictFigures(sizes, KINDS / FOLDS, (leftOut) =>
    compareFolds(used, leftOut === undefined ? undefined : present[leftOut]),
  )
  const gains = names.map((name, at): [string, Interval] => [name, measured[at] as Interval])
  const tolerated = -TOLERANCE * (measured[names.length] as Interval).value
  return {
    prompts: chosen.length,
    gains: Object.fromEntries(gains),
    holds: gains.every(([, { low }]) => low >= tolerated),
  }
}

/** Says why a version that is better on known kinds is not called better. */
export function describeHarm({ gains }: NewKindsFigures): string {
  const names = Object.keys(gains).filter((name) => (gains[name] as Interval).low < 0)
  if (names.length === 0) return 'There are too few kinds of prompts to hold some of them out.'
  return `On kinds of prompts that it has not seen, it may be below ${names.join(' and ')}.`
}

interface Fold {
  readonly contest: Contest
  readonly strategies: readonly Strategy[]
  /** By prompt. */
  readonly kinds: readonly number[]
}

/** Returns undefined if there are too few prompts or raters. */
function judgeFold(
  training: readonly RatedPrompt[],
  holdout: readonly RatedPrompt[],
  { candidates, catalogue }: NewKindsOptions,
): Fold | undefined {
  const rowsOf = collectRows(training)
  const fits = candidates.map((model) => fitModel(rowsOf.get(model) ?? []))
  const outcomes = estimateOutcomes(holdout, candidates, ({ features }) =>
    Float64Array.from(fits, (weights) => predict(weights, features)),
  )
  if (outcomes.prompts.length < MIN_FOLD_PROMPTS || countRaters(outcomes.prompts) < MIN_RATERS)
    return undefined
  const contest = createContest(outcomes, candidates, catalogue)
  const kindOf = new Map<RatedPrompt, number>(holdout.map((prompt) => [prompt, prompt.kind]))
  return {
    contest,
    strategies: createStrategies(contest),
    kinds: outcomes.prompts.map((prompt) => kindOf.get(prompt) as number),
  }
}

/**
 * Returns the mean gain over each baseline, then the gap between the cheapest and the best model. Prompts of
 * the kind that is left out do not count.
 */
function compareFolds(folds: readonly Fold[], leftOut: number | undefined): readonly number[] {
  const baselines = (folds[0] as Fold).strategies.length - 1
  const gains = new Float64Array(baselines)
  let gap = 0
  let whole = 0
  for (const { contest, strategies, kinds } of folds) {
    const { outcomes, costs } = contest
    const weights = outcomes.weights.map((weight, at) => (kinds[at] === leftOut ? 0 : weight))
    const size = weights.reduce((sum, weight) => sum + weight, 0)
    if (size === 0) continue
    const [version, ...others] = strategies.map((strategy) => strategy.quality(weights)) as [
      number,
      ...number[],
    ]
    for (const [at, other] of others.entries()) gains[at] = (gains[at] as number) + size * (version - other)
    const [cheapest, best] = [0, costs.length - 1].map((at) => meanScore(outcomes, at, weights))
    gap += size * Math.max(0, (best as number) - (cheapest as number))
    whole += size
  }
  return [...gains.map((gain) => gain / whole), gap / whole]
}

function weightOfKind({ contest, kinds }: Fold, kind: number): number {
  return contest.outcomes.weights.reduce((sum, weight, at) => sum + (kinds[at] === kind ? weight : 0), 0)
}

/** Spreads kinds over folds of about the same size. */
function assignFolds(kinds: Uint8Array): readonly (readonly number[])[] {
  const sizes = Array.from({ length: KINDS }, (_, kind) => kinds.filter((other) => other === kind).length)
  const folds = Array.from({ length: FOLDS }, () => ({ members: [] as number[], size: 0 }))
  const largestFirst = [...sizes.keys()].sort((a, b) => (sizes[b] as number) - (sizes[a] as number))
  for (const kind of largestFirst) {
    const smallest = folds.reduce((least, fold) => (fold.size < least.size ? fold : least))
    smallest.members.push(kind)
    smallest.size += sizes[kind] as number
  }
  return folds.map(({ members }) => members)
}

/** Prompts of all times, so that there are at most `MAX_PROMPTS`. */
function thinOut(prompts: readonly RatedPrompt[]): readonly RatedPrompt[] {
  const step = Math.max(1, prompts.length / MAX_PROMPTS)
  return Array.from(
    { length: Math.min(prompts.length, MAX_PROMPTS) },
    (_, at) => prompts[Math.floor(at * step)] as RatedPrompt,
  )
}
