import { StrictObject, StringEnum, Type } from '../../core/contract/index.ts'
import { BUDGET_PERIODS, BUDGET_REACTIONS } from '../../projections/events/budgets.ts'

const budgetFields = {
  limit_usd: Type.Number({
    minimum: 0,
    maximum: 9_000_000,
    description: 'What may be spent in a period, in US dollars, down to a billionth.',
  }),
  period: StringEnum(BUDGET_PERIODS, {
    description: 'When spending is counted anew: at 0:00 UTC, on Mondays, on the first of a month, or never.',
  }),
  warn_ratio: Type.Optional(
    Type.Number({
      exclusiveMinimum: 0,
      maximum: 1,
      description: 'The share of the limit from which answers have a warning.',
    }),
  ),
  on_exceed: StringEnum(BUDGET_REACTIONS, {
    description: 'Whether requests are refused, or automatic choices take the mode cost.',
  }),
}

/** The body of `PUT …/budget`. */
export const BudgetInput = StrictObject(budgetFields, { $id: 'BudgetInput', description: 'A budget.' })

export const BudgetTerms = Type.Object(budgetFields, { $id: 'BudgetTerms', description: 'A budget.' })
