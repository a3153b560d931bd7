/** What budgets and limits refuse requests with, once their rules allow them. */
const LIMIT_ERRORS = [
  'budget_exceeded',
  'budget_reserved',
  'budget_price_unknown',
  'token_limit_exceeded',
  'concurrency_limit_exceeded',
] as const

export function isRefusedByLimit(code: string): boolean {
  return LIMIT_ERRORS.some((known) => known === code)
}
