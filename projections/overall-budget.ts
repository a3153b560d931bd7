import type { Budget } from '../core/events/domain-events.ts'
import type { SavedProjection } from './runtime/projection.ts'

/** The budget of everything together, in memory. */
export interface OverallBudget extends SavedProjection {
  current(): Budget | undefined
  /** Revision of the stream `budget`; -1 before the first change. */
  revision(): number
}

export function createOverallBudget(): OverallBudget {
  let budget: Budget | undefined
  let revision = -1
  return {
    name: 'overall-budget',
    apply(event, record) {
      if (event.type === 'OverallBudgetSet') budget = event.data.budget
      else if (event.type === 'OverallBudgetRemoved') budget = undefined
      else return
      revision = record.revision
    },
    current: () => budget,
    revision: () => revision,
    save: () => [JSON.stringify({ budget, revision })],
    load(lines) {
      for (const line of lines) ({ budget, revision } = JSON.parse(line.toString()))
    },
  }
}
