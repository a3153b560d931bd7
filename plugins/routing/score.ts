import type { Mode, Model } from '../../core/contract/index.ts'
import { costOf } from '../../core/cost.ts'
import type { Needs } from './needs.ts'

/** How much cost, quality and latency count, in any unit: only their ratio matters. */
export interface Weights {
  readonly cost: number
  readonly quality: number
  readonly latency: number
}

export type ModeWeights = Readonly<Record<Mode, Weights>>

export interface Scored {
  readonly model: Model
  /** 0 to 1. */
  readonly score: number
}

/**
 * The candidates, best first; equal scores by id. Each figure is set on 0..1 between the worst and the best candidate:
 * cost and latency by ratio, for twice the price is as much of a step from 1 to 2 as from 10 to 20; quality linearly.
 */
export function rankModels(
  candidates: readonly Model[],
  needs: Needs,
  weights: Weights,
  latencyOf: (model: Model) => number,
): readonly Scored[] {
  const usage = { input: needs.inputTokens, output: needs.outputTokens }
  const cost = scaleBetween(candidates.map((model) => Math.log(costOf(model, usage) + Number.MIN_VALUE)))
  const latency = scaleBetween(candidates.map((model) => Math.log(latencyOf(model))))
  const quality = scaleBetween(candidates.map((model) => -model.quality))
  const total = weights.cost + weights.quality + weights.latency
  return candidates
    .map((model, place) => {
      const sum =
        weights.cost * (cost[place] ?? 0) +
        weights.quality * (quality[place] ?? 0) +
        weights.latency * (latency[place] ?? 0)
      return { model, score: sum / total }
    })
    .sort((a, b) => b.score - a.score || compare(a.model.id, b.model.id))
}

function compare(one: string, other: string): number {
  if (one === other) return 0
  return one < other ? -1 : 1
}

/** 1 for the lowest figure, 0 for the highest, 1 for all when they are equal. */
function scaleBetween(figures: readonly number[]): readonly number[] {
  const lowest = Math.min(...figures)
  const span = Math.max(...figures) - lowest
  return figures.map((figure) => (span === 0 ? 1 : 1 - (figure - lowest) / span))
}
