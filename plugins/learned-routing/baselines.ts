import type { Outcomes } from './outcomes.ts'
import type { LearnedModelInfo } from './rating.ts'
import { createBudgetWalk, hullSteps, stepsByFigure, stepsByScore } from './strategies.ts'

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
