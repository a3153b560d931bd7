import type { Budget } from './events/budgets.ts'
import type { SavedProjection } from './runtime/projection.ts'

/** The budgets of everything together, and of copies for other models, in memory. */
export interface OverallBudget extends SavedProjection {
  current(): Budget | undefined
  shadow(): Budget | undefined
  /** Revision of the stream `budget`; -1 before the first change. */
  revision(): number
}

export function createOverallBudget(): OverallBudget {
  let budget: Budget | undefined
  let shadow: Budget | undefined
  let revision = -1
  return {
    name: 'overall-budget',
    apply(event, record) {
      if (event.type === 'OverallBudgetSet') budget = event.data.budget
      else if (event.type === 'OverallBudgetRemoved') budget = undefined
      else if (event.type === 'ShadowBudgetSet') shadow = event.data.budget
      else if (event.type === 'ShadowBudgetRemoved') shadow = undefined
      else return
      revision = record.revision
    },
    current: () => budget,
    shadow: () => shadow,
    revision: () => revision,
    save: () => [JSON.stringify({ budget, shadow, revision })],
    load(lines) {
      for (const line of lines) ({ budget, shadow, revision } = JSON.parse(line.toString()))
    },
  }
}
