import { type Budget, foldOverallBudgets, type OverallBudgets } from './events/budgets.ts'
import type { SavedProjection } from './runtime/projection.ts'

/** The budgets of everything together, and of copies for other models, in memory. */
export interface OverallBudget extends SavedProjection {
  current(): Budget | undefined
  shadow(): Budget | undefined
  /** Revision of the stream `budget`; -1 before the first change. */
  revision(): number
}

export function createOverallBudget(): OverallBudget {
  let budgets: OverallBudgets = {}
  let revision = -1
  return {
    name: 'overall-budget',
    apply(event, record) {
      if (!foldOverallBudgets.has(event)) return
      budgets = foldOverallBudgets(budgets, event, record) ?? {}
      revision = record.revision
    },
    current: () => budgets.budget,
    shadow: () => budgets.shadow,
    revision: () => revision,
    save: () => [JSON.stringify({ ...budgets, revision })],
    load(lines) {
      for (const line of lines) ({ revision, ...budgets } = JSON.parse(line.toString()))
    },
  }
}
