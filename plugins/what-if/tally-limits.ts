import type { GatewayError } from '../../core/contract/index.ts'
import type { Decision } from './decision.ts'
import type { WhatIfReport } from './schemas.ts'

type LimitsReport = WhatIfReport['limits']
type LimitCounts = { -readonly [Name in keyof LimitsReport['before']]: LimitsReport['before'][Name] }

/** Counts requests that budgets and limits refuse, without and with the drafts. */
export class LimitsTally {
  readonly #before = noRefusals()
  readonly #after = noRefusals()
  #estimated = 0

  add(before: Decision, after: Decision): void {
    count(this.#before, before)
    count(this.#after, after)
    if (before.admitted.isEstimated || after.admitted.isEstimated) this.#estimated += 1
  }

  report(): LimitsReport {
    return { before: this.#before, after: this.#after, estimated: this.#estimated }
  }
}

function noRefusals(): LimitCounts {
  return { user: 0, key: 0, group: 0, all: 0, price: 0, tokens: 0, concurrency: 0, downgraded: 0 }
}

function count(counts: LimitCounts, { admitted: { error, isDowngraded } }: Decision): void {
  if (isDowngraded) counts.downgraded += 1
  const limit = error && limitOfError(error)
  if (limit !== undefined) counts[limit] += 1
}

function limitOfError({ code, details }: GatewayError): keyof LimitCounts | undefined {
  if (code === 'token_limit_exceeded') return 'tokens'
  if (code === 'concurrency_limit_exceeded') return 'concurrency'
  if (code === 'budget_price_unknown') return 'price'
  const { budget } = details.meta ?? {}
  return BUDGETS.find((name) => name === budget)
}

const BUDGETS = ['user', 'key', 'group', 'all'] as const
