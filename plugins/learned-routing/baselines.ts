import { createRandom } from '../../core/util/random.ts'
import type { Interval } from './figures.ts'
import type { LearnedModelInfo } from './rating.ts'
import { type RatedPrompt, weighForVerdict } from './ratings.ts'
import { createBudgetWalk, hullSteps, stepsByFigure, stepsByScore } from './strategies.ts'

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

/** Ways to choose models that are compared on the same prompts. */
export interface Contest {
  readonly outcomes: Outcomes
  /** By candidate, ascending. */
  readonly costs: readonly number[]
  /** By candidate: the constants of the catalogue. */
  readonly constants: readonly number[]
}

/** Compares candidates, which are listed by ascending cost. */
export function createContest(
  outcomes: Outcomes,
  candidates: readonly string[],
  catalogue: Readonly<Record<string, LearnedModelInfo>>,
): Contest {
  const infos = candidates.map((model) => catalogue[model] as LearnedModelInfo)
  return {
    outcomes,
    costs: infos.map(({ cost }) => cost),
    constants: infos.map(({ quality }) => quality),
  }
}

export interface Strategy {
  readonly name: string
  /** The mean score over all budgets with these weights of the prompts. */
  quality(weights: ArrayLike<number>): number
  curve(weights: ArrayLike<number>): readonly (readonly [cost: number, quality: number])[]
}

/** Whether the best model costs more than the cheapest. Else, quality alone counts. */
function hasTradeOff(costs: readonly number[]): boolean {
  return (costs.at(-1) ?? 0) > (costs[0] ?? 0)
}

/** Returns the version, then the baselines. See docs/decisions/learned-routing.md, "Three baselines". */
export function createStrategies(contest: Contest): readonly Strategy[] {
  const { outcomes, costs, constants } = contest
  const { expected } = outcomes
  const constantsByCost = hullSteps(constants, costs).filter(({ benefit }) => benefit > 0)
  if (!hasTradeOff(costs)) {
    const favourite = indexOfMax(constants)
    return [
      fixedStrategy('version', outcomes, (prompt) => indexOfMax(expected[prompt] as Float64Array)),
      fixedStrategy('catalogue', outcomes, () => favourite),
      bestConstant(outcomes),
    ]
  }
  const lengths = outcomes.prompts.map(({ features }) => features.numbers[0] as number)
  const along = budgetStrategy('length', contest, stepsByFigure(lengths, costs))
  const against = budgetStrategy(
    'length',
    contest,
    stepsByFigure(
      lengths.map((length) => -length),
      costs,
    ),
  )
  return [
    budgetStrategy('version', contest, stepsByScore(expected, costs)),
    // Whether long or short prompts need the better model is decided in favour of the baseline.
    along.quality(outcomes.weights) >= against.quality(outcomes.weights) ? along : against,
    mixStrategy('catalogue', contest, () => constantsByCost),
    mixStrategy('constants', contest, (means) => hullSteps(means, costs)),
  ]
}

/** What could be reached if the scores were known before. */
export function createForesight(contest: Contest): Strategy {
  if (!hasTradeOff(contest.costs)) {
    const { outcomes } = contest
    return fixedStrategy('foresight', outcomes, (prompt) =>
      indexOfMax(outcomes.scores[prompt] as Float64Array),
    )
  }
  return budgetStrategy('foresight', contest, stepsByScore(contest.outcomes.scores, contest.costs))
}

function budgetStrategy(
  name: string,
  { outcomes: { scores }, costs }: Contest,
  steps: ReturnType<typeof stepsByScore>,
): Strategy {
  const walk = createBudgetWalk(steps, scores, costs)
  return {
    name,
    quality: walk.meanQuality,
    curve(weights) {
      const points: [number, number][] = []
      walk.visit(weights, (cost, quality) => points.push([cost, quality]))
      return points
    },
  }
}

/** Gives a share of all prompts to the next model, whatever they ask. */
function mixStrategy(
  name: string,
  { outcomes, costs }: Contest,
  stepsOf: (means: readonly number[]) => ReturnType<typeof hullSteps>,
): Strategy {
  const range = (costs.at(-1) as number) - (costs[0] as number)
  const curve = (weights: ArrayLike<number>): [number, number][] => {
    const means = costs.map((_, candidate) => meanScore(outcomes, candidate, weights))
    const points = stepsOf(means).map(({ to }): [number, number] => [
      ((costs[to] as number) - (costs[0] as number)) / range,
      means[to] as number,
    ])
    const last = points.at(-1)?.[1] ?? (means[0] as number)
    return [[0, means[0] as number], ...points, [1, last]]
  }
  return {
    name,
    curve,
    quality(weights) {
      let area = 0
      let [lastCost, lastQuality] = [0, 0]
      for (const [cost, quality] of curve(weights)) {
        area += ((quality + lastQuality) / 2) * (cost - lastCost)
        lastCost = cost
        lastQuality = quality
      }
      return area
    },
  }
}

function fixedStrategy(name: string, { scores }: Outcomes, choose: (prompt: number) => number): Strategy {
  const chosen = scores.map((score, prompt) => score[choose(prompt)] as number)
  const quality = (weights: ArrayLike<number>) =>
    chosen.reduce((total, score, prompt) => total + score * (weights[prompt] as number), 0) / sumOf(weights)
  return { name, quality, curve: (weights) => [[0, quality(weights)]] }
}

function bestConstant(outcomes: Outcomes): Strategy {
  const quality = (weights: ArrayLike<number>) =>
    Math.max(...outcomes.ratings.map((_, candidate) => meanScore(outcomes, candidate, weights)))
  return { name: 'constants', quality, curve: (weights) => [[0, quality(weights)]] }
}

export function meanScore({ scores }: Outcomes, candidate: number, weights: ArrayLike<number>): number {
  let total = 0
  for (let prompt = 0; prompt < scores.length; prompt++) {
    total += (weights[prompt] as number) * ((scores[prompt] as Float64Array)[candidate] as number)
  }
  return total / sumOf(weights)
}

function sumOf(values: ArrayLike<number>): number {
  let total = 0
  for (let at = 0; at < values.length; at++) total += values[at] as number
  return total
}

export function indexOfMax(values: ArrayLike<number>): number {
  let best = 0
  for (let at = 1; at < values.length; at++) if ((values[at] as number) > (values[best] as number)) best = at
  return best
}

/**
 * Calls `measure` with the weights of prompts, then with those of `samples` samples that are drawn from them
 * with replacement. Returns an interval for each of the figures that it returns.
 */
export function bootstrap(
  weights: Float64Array,
  { samples, seed }: { readonly samples: number; readonly seed: number },
  measure: (weights: Float64Array) => readonly number[],
): readonly Interval[] {
  const random = createRandom(seed)
  const values = measure(weights)
  const drawn = values.map(() => new Float64Array(samples))
  const sampled = new Float64Array(weights.length)
  for (let sample = 0; sample < samples; sample++) {
    sampled.fill(0)
    for (let draw = 0; draw < weights.length; draw++) {
      const prompt = random.integer(weights.length)
      sampled[prompt] = (sampled[prompt] as number) + (weights[prompt] as number)
    }
    for (const [at, value] of measure(sampled).entries()) (drawn[at] as Float64Array)[sample] = value
  }
  return values.map((value, at) => {
    const ascending = (drawn[at] as Float64Array).sort()
    const quantile = (share: number) => ascending[Math.floor(share * (samples - 1))] as number
    return { value, low: quantile(0.025), high: quantile(0.975) }
  })
}
