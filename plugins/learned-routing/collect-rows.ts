import { MAX_ROUTER_MODELS } from '../../core/events/router-events.ts'
import type { FittedRow } from './fit-model.ts'
import type { RatedPrompt } from './split-ratings.ts'

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
