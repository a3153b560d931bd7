import { type Static, StringEnum, Type } from '../../core/contract/index.ts'

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
