/** A step of a prompt from one candidate to a dearer one. */
interface BudgetStep {
  readonly prompt: number
  readonly from: number
  readonly to: number
  /** What the strategy expects of it, per cost. */
  readonly benefit: number
}

/**
 * A way to spend a budget: all prompts begin with the cheapest candidate, and take their steps in the order
 * of their benefits as far as the budget reaches. For two models, these are the thresholds of a router.
 */
export type BudgetSteps = readonly BudgetStep[]

/** Spends on the prompts where the expected score grows most per cost. */
export function stepsByScore(expected: readonly Float64Array[], costs: readonly number[]): BudgetSteps {
  return expected
    .flatMap((scores, prompt) => hullSteps(scores, costs).map((step) => ({ ...step, prompt })))
    .sort((a, b) => b.benefit - a.benefit)
}

/** Spends on the prompts with the highest figure, on the dearest candidate. */
export function stepsByFigure(figures: readonly number[], costs: readonly number[]): BudgetSteps {
  return figures
    .map((benefit, prompt) => ({ prompt, from: 0, to: costs.length - 1, benefit }))
    .sort((a, b) => b.benefit - a.benefit)
}

/**
 * The steps along the upper hull of points (cost, score), from the cheapest candidate to the dearest. Costs
 * ascend.
 */
export function hullSteps(scores: ArrayLike<number>, costs: readonly number[]): Omit<BudgetStep, 'prompt'>[] {
  const hull: number[] = [0]
  const benefitOf = (from: number, to: number) =>
    ((scores[to] as number) - (scores[from] as number)) /
    Math.max(1e-9, (costs[to] as number) - (costs[from] as number))
  for (let candidate = 1; candidate < costs.length; candidate++) {
    while (hull.length > 1) {
      const last = hull.at(-1) as number
      if (benefitOf(hull.at(-2) as number, last) > benefitOf(last, candidate)) break
      hull.pop()
    }
    hull.push(candidate)
  }
  return hull.slice(1).map((to, index) => {
    const from = hull[index] as number
    return { from, to, benefit: benefitOf(from, to) }
  })
}

/** A strategy on given prompts, prepared for many samples of them. */
interface BudgetWalk {
  /** Calls `visit` with the points of the curve for these weights of the prompts. */
  visit(weights: ArrayLike<number>, visit: (cost: number, quality: number) => void): void
  /** The mean score over all budgets: the area under the curve. */
  meanQuality(weights: ArrayLike<number>): number
}

/** Steps with the same benefit are taken together: of such prompts, some are drawn. */
export function createBudgetWalk(
  steps: BudgetSteps,
  scores: readonly Float64Array[],
  costs: readonly number[],
): BudgetWalk {
  const range = (costs.at(-1) as number) - (costs[0] as number)
  const first = Float64Array.from(scores, (score) => score[0] as number)
  const prompts = Uint32Array.from(steps, ({ prompt }) => prompt)
  const spent = Float64Array.from(
    steps,
    ({ from, to }) => ((costs[to] as number) - (costs[from] as number)) / range,
  )
  const gained = Float64Array.from(steps, ({ prompt, from, to }) => {
    const score = scores[prompt] as Float64Array
    return (score[to] as number) - (score[from] as number)
  })
  const isLast = Uint8Array.from(steps, ({ benefit }, at) => Number(steps[at + 1]?.benefit !== benefit))

  function visit(weights: ArrayLike<number>, visitPoint: (cost: number, quality: number) => void): void {
    let whole = 0
    let quality = 0
    for (let prompt = 0; prompt < first.length; prompt++) {
      const weight = weights[prompt] as number
      whole += weight
      quality += weight * (first[prompt] as number)
    }
    let cost = 0
    visitPoint(0, quality / whole)
    for (let at = 0; at < prompts.length; at++) {
      const weight = weights[prompts[at] as number] as number
      cost += weight * (spent[at] as number)
      quality += weight * (gained[at] as number)
      if (isLast[at] === 1) visitPoint(cost / whole, quality / whole)
    }
  }

  return {
    visit,
    meanQuality(weights) {
      let area = 0
      let lastCost = 0
      let lastQuality = 0
      visit(weights, (cost, quality) => {
        area += ((quality + lastQuality) / 2) * (cost - lastCost)
        lastCost = cost
        lastQuality = quality
      })
      return area
    },
  }
}
