import { type Static, StringEnum, Type } from '../../core/contract/index.ts'
import { createFold, defineEvent, type EventOf } from '../../core/events/define-event.ts'

export const BUDGET_PERIODS = ['day', 'week', 'month', 'total'] as const

export const BUDGET_REACTIONS = ['refuse', 'downgrade'] as const

/** What may be spent in each period. See docs/decisions/limits.md, "A budget is an event of its user". */
export const BudgetData = Type.Object({
  limitUsd: Type.Number(),
  period: StringEnum(BUDGET_PERIODS),
  /** The share of the limit from which answers have a warning. */
  warnRatio: Type.Optional(Type.Number()),
  onExceed: StringEnum(BUDGET_REACTIONS),
})

export type Budget = Readonly<Static<typeof BudgetData>>

/** Changes to the budgets of everything together, and of copies for other models. */
export const OVERALL_BUDGET_STREAM = 'budget'

export interface OverallBudgets {
  readonly budget?: Budget
  readonly shadow?: Budget
}

const none = Type.Object({})

export const overallBudgetEvents = [
  defineEvent({
    type: 'OverallBudgetSet',
    schema: Type.Object({ budget: BudgetData }),
    stream: OVERALL_BUDGET_STREAM,
    audit: { kind: 'budget', change: 'set' },
    fold: (budgets: OverallBudgets, { budget }) => ({ ...budgets, budget }),
  }),
  defineEvent({
    type: 'OverallBudgetRemoved',
    schema: none,
    stream: OVERALL_BUDGET_STREAM,
    audit: { kind: 'budget', change: 'removed' },
    fold: ({ budget: _, ...others }: OverallBudgets) => others,
  }),
  defineEvent({
    type: 'ShadowBudgetSet',
    schema: Type.Object({ budget: BudgetData }),
    stream: OVERALL_BUDGET_STREAM,
    audit: { kind: 'budget', change: 'shadow_set' },
    fold: (budgets: OverallBudgets, { budget: shadow }) => ({ ...budgets, shadow }),
  }),
  defineEvent({
    type: 'ShadowBudgetRemoved',
    schema: none,
    stream: OVERALL_BUDGET_STREAM,
    audit: { kind: 'budget', change: 'shadow_removed' },
    fold: ({ shadow: _, ...others }: OverallBudgets) => others,
  }),
] as const

export type OverallBudgetEvent = EventOf<typeof overallBudgetEvents>

export const foldOverallBudgets = createFold<OverallBudgetEvent, OverallBudgets>(overallBudgetEvents)
