import { type ErrorDefinition, errorsOf, type GatewayError, type Target } from '../../core/contract/index.ts'
import { retryAdvice, toRetryAfterSeconds } from '../../core/http/error-words.ts'
import { toNanoUsd } from '../../core/prices/cost.ts'
import type { CounterUse } from '../../core/shared-state/reservations.ts'
import { type BudgetTarget, formatUsd, type OwnedBudget } from './owned-budget.ts'
import { periodAt } from './periods.ts'

export const BUDGET_ERROR_CODES = {
  budget_exceeded: {
    ...{ status: 402, type: 'budget_error', of: 'inference' },
    description: 'A budget does not cover what the request may cost.',
  },
  budget_price_unknown: {
    ...{ status: 402, type: 'budget_error', of: 'inference' },
    description: 'A budget applies, and the model has no known price.',
  },
  budget_reserved: {
    ...{ status: 429, type: 'rate_limit_error', of: 'inference' },
    description: 'Requests in flight have reserved the rest of a budget.',
  },
  budget_unavailable: {
    ...{ status: 503, type: 'service_unavailable_error', of: 'inference', failsClosed: true },
    description: 'What was spent cannot be checked at the moment.',
  },
} as const satisfies Readonly<Record<string, ErrorDefinition>>

const budgetError = errorsOf(BUDGET_ERROR_CODES)

const NAMES = {
  user: 'your user',
  key: 'this API key',
  group: 'your group',
  all: 'this gateway',
  shadow: 'copies',
}

/** Names a budget for callers. What others spend is not for them. */
export function describeBudget({ target, budget }: OwnedBudget): string {
  const name = `The budget of ${NAMES[target.type]}`
  if (isShared(target)) return name
  const period = budget.period === 'total' ? 'in total' : `per ${budget.period}`
  return `${name} (${formatUsd(toNanoUsd(budget.limitUsd))} US dollars ${period})`
}

function isShared({ type }: BudgetTarget): boolean {
  return type !== 'user' && type !== 'key'
}

/** The error for a request that the rest of the budget does not cover. */
export function budgetExceeded(
  owned: OwnedBudget,
  use: CounterUse | undefined,
  worstCase: number,
): GatewayError {
  const { endsAt } = periodAt(owned.budget.period, Date.now())
  const retryAfter = endsAt === null ? undefined : toRetryAfterSeconds(endsAt - Date.now())
  const spent = isShared(owned.target) ? '' : `: ${formatUsd(use?.used ?? 0)} US dollars are spent`
  const until = endsAt === null ? 'ask the operator' : `try again after ${new Date(endsAt).toISOString()}`
  const message =
    `${describeBudget(owned)} does not cover this request${spent}, and it may cost up to ` +
    `${formatUsd(worstCase)}. ${adviceFor(owned)}, or ${until}.`
  const meta = { budget: owned.target.type }
  return budgetError('budget_exceeded', message, { meta, ...(retryAfter && { retryAfter }) })
}

function adviceFor({ budget }: OwnedBudget): string {
  return budget.onExceed === 'downgrade'
    ? 'Send the model "auto" to be served by an inexpensive one'
    : 'Set max_tokens to make it less expensive'
}

/** The error while requests in flight have reserved the rest of the budget. */
export function budgetReserved(owned: OwnedBudget): GatewayError {
  const retryAfter = 1
  const reason = 'is reserved by other requests that have not ended'
  const message = `${describeBudget(owned)} ${reason}. ${retryAdvice(retryAfter)}`
  return budgetError('budget_reserved', message, { retryAfter, meta: { budget: owned.target.type } })
}

export function priceUnknown({ provider, model }: Target): GatewayError {
  const message =
    `No price is known for ${model} of ${provider}, so it cannot be used under a budget. Use a model that ` +
    'GET /v1/models lists, or ask the operator to add a price.'
  return budgetError('budget_price_unknown', message)
}

export function budgetUnavailable(message = 'The budget cannot be checked at the moment.'): GatewayError {
  const retryAfter = 1
  return budgetError('budget_unavailable', `${message} ${retryAdvice(retryAfter)}`, { retryAfter })
}
