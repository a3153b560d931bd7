import {
  bootstrap,
  type Contest,
  createContest,
  createForesight,
  createStrategies,
  estimateOutcomes,
  meanScore,
  type Outcomes,
} from './baselines.ts'
import { clusterPrompts } from './cluster-prompts.ts'
import { estimateExploration } from './exploration.ts'
import type { Interval, KnownKindsFigures, PartFigures, StrategyFigures } from './figures.ts'
import { type ModelWeights, predict } from './model.ts'
import type { LearnedModelInfo } from './rating.ts'
import { countRaters, MIN_RATERS, type RatedPrompt, weighForVerdict } from './ratings.ts'

/** A model takes part in learned decisions, and is judged, from this many ratings to learn from. */
const MIN_MODEL_RATINGS = 100
const MIN_HOLDOUT_RATINGS = 10
const MIN_HOLDOUT_PROMPTS = 50
const MIN_PART_PROMPTS = 100
const SAMPLES = 500
const PART_SAMPLES = 200
const CURVE_POINTS = 21

interface Judged {
  readonly models: Readonly<Record<string, { readonly ratings: number; readonly weights: ModelWeights }>>
  /** The mean score of each model in the ratings that it was trained with. */
  readonly trainedMeans: Readonly<Record<string, number>>
  readonly holdout: readonly RatedPrompt[]
  readonly catalogue: Readonly<Record<string, LearnedModelInfo>>
  readonly seed: number
}

/** Judges a version on prompts that it has not seen. */
export function judgeRouter(judged: Judged): KnownKindsFigures {
  const { holdout, catalogue, seed } = judged
  const candidates = listCandidates(judged)
  if (candidates.length < 2) {
    return notJudged(
      holdout.length,
      `Fewer than two models have ${MIN_MODEL_RATINGS} ratings in the older four fifths, and ` +
        `${MIN_HOLDOUT_RATINGS} rated prompts of ${MIN_RATERS} raters in the newest fifth.`,
    )
  }
  const outcomes = estimateOutcomes(holdout, candidates, ({ features }) =>
    Float64Array.from(candidates, (model) => predict(weightsOf(judged, model), features)),
  )
  if (outcomes.prompts.length < MIN_HOLDOUT_PROMPTS) {
    return notJudged(
      outcomes.prompts.length,
      `The newest fifth has ${outcomes.prompts.length} prompts; ${MIN_HOLDOUT_PROMPTS} are needed.`,
    )
  }
  const contest = createContest(outcomes, candidates, catalogue)
  const { strategies, qualities, shortfalls } = compare(contest, SAMPLES, seed)
  const raters = countRaters(outcomes.prompts)
  return {
    better_on_known_kinds: shortfalls.length === 0 && raters >= MIN_RATERS,
    reason: findReason(raters, shortfalls),
    prompts: outcomes.prompts.length,
    raters,
    complete: outcomes.complete,
    candidates: candidates.map((model, at) => ({
      model,
      cost: contest.costs[at] as number,
      ratings: outcomes.ratings[at] as number,
      quality: qualities[at] as Interval,
    })),
    strategies,
    by_group: compareParts(contest, (prompt) => prompt.group, seed),
    by_cluster: compareParts(contest, nameClusters(outcomes.prompts, seed), seed),
    exploration: estimateExploration(contest, candidates, { samples: PART_SAMPLES, seed }),
  }
}

function findReason(raters: number, shortfalls: readonly string[]): string | null {
  if (raters < MIN_RATERS)
    return `Fewer than ${MIN_RATERS} users or importers have ratings in the newest fifth.`
  return shortfalls.length === 0 ? null : `Not above ${shortfalls.join(' and ')} with certainty.`
}

function weightsOf({ models }: Judged, model: string): ModelWeights {
  return (models[model] as Judged['models'][string]).weights
}

/**
 * The models to choose from, by ascending cost, up to the one that was best before the holdout. If that is
 * the cheapest, there is no budget to spend, and all models are compared by quality.
 */
function listCandidates({ models, trainedMeans, holdout, catalogue }: Judged): readonly string[] {
  const meanOf = (model: string) => trainedMeans[model] ?? 0
  const areMany = countRaters(holdout) >= MIN_RATERS
  const known = Object.keys(models)
    .filter((model) => (models[model]?.ratings ?? 0) >= MIN_MODEL_RATINGS)
    .filter((model) => {
      const rated = holdout.filter(({ ratings }) => ratings.some((rating) => rating.model === model))
      // Nobody can be judged by their own opinion of a model that no others rate.
      const isShared = !areMany || countRaters(rated, model) >= MIN_RATERS
      return rated.length >= MIN_HOLDOUT_RATINGS && isShared
    })
    .sort((a, b) => costOf(a) - costOf(b) || meanOf(a) - meanOf(b))
  function costOf(model: string): number {
    return catalogue[model]?.cost ?? 0
  }
  const best = known.reduce((first, model) => (meanOf(model) > meanOf(first) ? model : first), known[0] ?? '')
  if (known[0] === undefined || costOf(best) === costOf(known[0])) return known
  return known.slice(0, known.indexOf(best) + 1)
}

interface Comparison {
  readonly strategies: Readonly<Record<string, StrategyFigures>>
  readonly qualities: readonly Interval[]
  /** The baselines that the version is not above with certainty. */
  readonly shortfalls: readonly string[]
  readonly gains: readonly Interval[]
}

function compare(contest: Contest, samples: number, seed: number): Comparison {
  const { outcomes, costs } = contest
  const contenders = createStrategies(contest)
  const all = outcomes.complete ? [...contenders, createForesight(contest)] : contenders
  const intervals = bootstrap(outcomes.weights, { samples, seed }, (weights) => {
    const means = costs.map((_, candidate) => meanScore(outcomes, candidate, weights))
    const values = all.map((strategy) => strategy.quality(weights))
    const gains = contenders.slice(1).map((_, at) => (values[0] as number) - (values[at + 1] as number))
    return [(means.at(-1) as number) - (means[0] as number), ...means, ...values, ...gains]
  })
  const [gap, ...others] = intervals as [Interval, ...Interval[]]
  const qualities = others.slice(0, costs.length)
  const values = others.slice(costs.length, costs.length + all.length)
  const gains = others.slice(costs.length + all.length)
  const cheapest = qualities[0] as Interval
  const strategies = all.map((strategy, at): [string, StrategyFigures] => {
    const quality = values[at] as Interval
    const gain = at === 0 ? undefined : gains[at - 1]
    return [
      strategy.name,
      {
        quality: roundInterval(quality),
        apgr: gap.low > 0 ? round((quality.value - cheapest.value) / gap.value) : null,
        ...(gain && { gain: roundInterval(gain) }),
        curve: thin(strategy.curve(outcomes.weights)),
      },
    ]
  })
  return {
    strategies: Object.fromEntries(strategies),
    qualities: qualities.map(roundInterval),
    gains,
    shortfalls: contenders
      .slice(1)
      .flatMap(({ name }, at) => ((gains[at] as Interval).low > 0 ? [] : [name])),
  }
}

const SHOWN_CLUSTERS = 4

/** Returns the name of each prompt's cluster. */
function nameClusters(prompts: readonly RatedPrompt[], seed: number) {
  const clusters = clusterPrompts(prompts, { clusters: SHOWN_CLUSTERS, seed })
  const names = Array.from({ length: SHOWN_CLUSTERS }, (_, cluster) => {
    const lengths = prompts.flatMap(({ features }, at) =>
      clusters[at] === cluster ? [2 ** (features.numbers[0] as number) - 1] : [],
    )
    const middle = lengths.sort((a, b) => a - b)[lengths.length >> 1] ?? 0
    return `${cluster + 1} (median length ${Math.round(middle)})`
  })
  return (_: RatedPrompt, index: number) => names[clusters[index] as number]
}

/** Compares by parts of the prompts that are large enough. */
function compareParts(
  contest: Contest,
  nameOf: (prompt: RatedPrompt, index: number) => string | undefined,
  seed: number,
): readonly PartFigures[] {
  const parts = new Map<string, number[]>()
  for (const [index, prompt] of contest.outcomes.prompts.entries()) {
    const name = nameOf(prompt, index)
    if (name !== undefined) parts.set(name, [...(parts.get(name) ?? []), index])
  }
  return [...parts]
    .filter(([, indices]) => indices.length >= MIN_PART_PROMPTS)
    .map(([name, indices]) => {
      const part = selectPrompts(contest, indices)
      const { strategies, gains, shortfalls } = compare(part, PART_SAMPLES, seed)
      const smallest = gains.reduce((least, gain) => (gain.value < least.value ? gain : least))
      return {
        name,
        prompts: indices.length,
        better: shortfalls.length === 0 && countRaters(part.outcomes.prompts) >= MIN_RATERS,
        quality: Object.fromEntries(
          Object.entries(strategies).map(([key, { quality }]) => [key, quality.value]),
        ),
        gain: roundInterval(smallest),
      }
    })
}

function selectPrompts(contest: Contest, indices: readonly number[]): Contest {
  const select = <Item>(items: readonly Item[]) => indices.map((index) => items[index] as Item)
  const { prompts, scores, expected } = contest.outcomes
  const selected = select(prompts)
  const outcomes: Outcomes = {
    ...contest.outcomes,
    prompts: selected,
    scores: select(scores),
    expected: select(expected),
    weights: weighForVerdict(selected),
  }
  return { ...contest, outcomes }
}

function thin(curve: readonly (readonly [number, number])[]): readonly (readonly [number, number])[] {
  const step = Math.max(1, (curve.length - 1) / (CURVE_POINTS - 1))
  const count = Math.min(curve.length, CURVE_POINTS)
  return Array.from({ length: count }, (_, at) => {
    const [cost, quality] = curve[Math.min(curve.length - 1, Math.round(at * step))] as readonly [
      number,
      number,
    ]
    return [round(cost), round(quality)] as const
  })
}

function roundInterval({ value, low, high }: Interval): Interval {
  return { value: round(value), low: round(low), high: round(high) }
}

function round(value: number): number {
  return Math.round(value * 10_000) / 10_000
}

function notJudged(prompts: number, reason: string): KnownKindsFigures {
  return {
    better_on_known_kinds: false,
    reason,
    prompts,
    raters: 0,
    complete: false,
    candidates: [],
    strategies: {},
    by_group: [],
    by_cluster: [],
    exploration: null,
  }
}

/** Quantiles at 97.5 % of Student's t distribution, by degrees of freedom from 1. */
const T_QUANTILES = [
  12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.16, 2.145, 2.131,
]

/** Returns how many groups of the same size are as informative as groups of these sizes. */
export function effectiveCount(sizes: readonly number[]): number {
  const whole = sizes.reduce((sum, size) => sum + size, 0)
  return whole ** 2 / sizes.reduce((sum, size) => sum + size ** 2, 0)
}

/**
 * Estimates figures of future groups by the delete-one-group jackknife for groups of different sizes. Calls
 * `measure` without a group, then with each group left out. Returns, for each figure that it returns, the
 * value of all groups and the limits that the value of `future` other groups keeps to with 95 % (a prediction
 * interval by Student's t distribution). There must be two groups at least.
 */
export function predictFigures(
  sizes: readonly number[],
  future: number,
  measure: (leftOut?: number) => readonly number[],
): readonly Interval[] {
  const whole = sizes.reduce((sum, size) => sum + size, 0)
  const count = effectiveCount(sizes)
  const freedom = Math.min(Math.floor(count) - 1, T_QUANTILES.length)
  const quantile = T_QUANTILES[freedom - 1] ?? Number.POSITIVE_INFINITY
  const values = measure()
  const rest = sizes.map((_, group) => measure(group))
  return values.map((value, figure) => {
    const partOf = (group: number) => (rest[group] as readonly number[])[figure] as number
    const shares = sizes.map((size) => size / whole)
    const center = shares.reduce((sum, share, group) => sum + (value - (1 - share) * partOf(group)), 0)
    const variance = shares.reduce((sum, share, group) => {
      const pseudo = (value - (1 - share) * partOf(group)) / share
      return sum + ((pseudo - center) ** 2 * share) / (1 - share) / sizes.length
    }, 0)
    const margin = quantile * Math.sqrt(variance * (1 + count / future))
    return { value, low: value - margin, high: value + margin }
  })
}
