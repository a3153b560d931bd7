import type { Model } from '../../core/contract/index.ts'
import { costOf } from '../../core/prices/cost.ts'
import type { Requirements } from './requirements.ts'
import type { ScoreWeights } from './routing-catalog.ts'

export interface RankedModel {
  readonly model: Model
  /** 0 to 1. */
  readonly score: number
}

/**
 * Returns the candidates, best first; equal scores are ordered by id. Each figure is scaled to 0..1 between
 * the worst and the best candidate: quality linearly, cost and latency logarithmically, because doubling a
 * price is the same step from 1 to 2 as from 10 to 20. See docs/decisions/routing.md, "Cost and latency are
 * compared by ratio, quality by difference".
 */
export function rankModels(
  candidates: readonly Model[],
  requirements: Requirements,
  weights: ScoreWeights,
  latencyOf: (model: Model) => number,
  qualityOf: (model: Model) => number = catalogueQuality,
): readonly RankedModel[] {
  const usage = { input: requirements.inputTokens, output: requirements.outputTokens }
  // The smallest number keeps the logarithm of a free model finite.
  const cost = scaleBetween(candidates.map((model) => Math.log(costOf(model, usage) + Number.MIN_VALUE)))
  const latency = scaleBetween(candidates.map((model) => Math.log(latencyOf(model))))
  const quality = scaleBetween(candidates.map((model) => -qualityOf(model)))
  const total = weights.cost + weights.quality + weights.latency
  return candidates
    .map((model, index) => {
      const sum =
        weights.cost * (cost[index] ?? 0) +
        weights.quality * (quality[index] ?? 0) +
        weights.latency * (latency[index] ?? 0)
      return { model, score: sum / total }
    })
    .sort((a, b) => b.score - a.score || compareIds(a.model.id, b.model.id))
}

const catalogueQuality = ({ quality }: Model) => quality

/** The catalogue's scale of quality. */
export const MAX_QUALITY = 100

/**
 * Returns the quality of models for one prompt: P(good | prompt) where the router knows the model, else the
 * catalogue's constant.
 */
export function promptQuality(assessment: PromptQuality): (model: Model) => number {
  return (model) => {
    const probability = assessment.probabilityOf(model.id)
    return probability === undefined ? model.quality : probability * MAX_QUALITY
  }
}

interface PromptQuality {
  probabilityOf(modelId: string): number | undefined
}

/**
 * Puts models that lose least of the request first, and keeps the order of others. `bestCount` is the number
 * of these. See docs/decisions/routing.md, "A model that cannot honour every parameter is better than none".
 */
export function sortByFit(
  ranked: readonly RankedModel[],
  lossOf: (model: Model) => number,
): { readonly sorted: readonly RankedModel[]; readonly bestCount: number } {
  const losses = ranked.map(({ model }) => lossOf(model))
  const least = Math.min(...losses)
  if (losses.every((loss) => loss === least)) return { sorted: ranked, bestCount: ranked.length }
  const order = ranked.map((_, index) => index).sort((a, b) => (losses[a] ?? 0) - (losses[b] ?? 0) || a - b)
  return {
    sorted: order.flatMap((index) => ranked[index] ?? []),
    bestCount: losses.filter((loss) => loss === least).length,
  }
}

/** Compares code units, so that the order does not depend on the locale. */
export function compareIds(a: string, b: string): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}

/** Scales the lowest figure to 1 and the highest to 0; equal figures are all 1. */
function scaleBetween(figures: readonly number[]): readonly number[] {
  const lowest = Math.min(...figures)
  const span = Math.max(...figures) - lowest
  return figures.map((figure) => (span === 0 ? 1 : 1 - (figure - lowest) / span))
}
