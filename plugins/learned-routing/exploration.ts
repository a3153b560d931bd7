import { bootstrap, type Contest, indexOfMax } from './baselines.ts'
import type { ExplorationFigures } from './figures.ts'
import type { RatedPrompt } from './ratings.ts'

const MIN_RATINGS = 50

/**
 * Estimates from ratings with recorded propensities what the version, and each model alone, would score
 * without regard to cost: by inverse propensity, and doubly robust with the version's own probabilities. Null
 * if there are too few.
 */
export function estimateExploration(
  { outcomes }: Contest,
  candidates: readonly string[],
  sampling: { readonly samples: number; readonly seed: number },
): ExplorationFigures | null {
  const explored = outcomes.prompts.flatMap((prompt, at) =>
    toExplored(prompt, candidates, outcomes.expected[at] as Float64Array),
  )
  if (explored.length < MIN_RATINGS) return null
  const policies = [
    { name: 'version', choose: (probabilities: Float64Array) => indexOfMax(probabilities) },
    ...candidates.map((name, candidate) => ({ name, choose: () => candidate })),
  ]
  return {
    ratings: explored.length,
    policies: Object.fromEntries(
      policies.map(({ name, choose }) => {
        const terms = explored.map(({ candidate, score, propensity, probabilities }) => {
          const chosen = choose(probabilities)
          const matches = chosen === candidate ? 1 / propensity : 0
          const expectedScore = probabilities[chosen] as number
          return { plain: matches * score, robust: expectedScore + matches * (score - expectedScore) }
        })
        const weights = new Float64Array(explored.length).fill(1)
        const plain = terms.map((term) => term.plain)
        const robust = terms.map((term) => term.robust)
        const [inverse, corrected] = bootstrap(weights, sampling, (sampled) => [
          mean(plain, sampled),
          mean(robust, sampled),
        ])
        if (inverse === undefined || corrected === undefined) throw new Error('an estimate is missing')
        return [name, { inverse_propensity: inverse, doubly_robust: corrected }]
      }),
    ),
  }
}

function toExplored({ ratings }: RatedPrompt, candidates: readonly string[], probabilities: Float64Array) {
  return ratings.flatMap(({ model, score, propensity }) => {
    const candidate = candidates.indexOf(model)
    const isUsable = propensity !== undefined && propensity > 0 && candidate >= 0
    return isUsable ? [{ candidate, score, propensity, probabilities }] : []
  })
}

function mean(values: readonly number[], weights: Float64Array): number {
  let total = 0
  let whole = 0
  for (const [at, value] of values.entries()) {
    total += value * (weights[at] as number)
    whole += weights[at] as number
  }
  return total / whole
}
