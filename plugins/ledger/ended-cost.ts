import type { EndedExchange } from '../../core/contract/index.ts'
import { providerUseOf } from '../../core/pipeline/usage-recorder.ts'
import { isCost, toNanoUsd } from '../../core/prices/cost.ts'
import { WorstCase } from './slots.ts'

/**
 * Returns what an ended request cost, in billionths of a US dollar; `unknown` if a provider may have worked
 * for it without reporting how much.
 */
export function costOfEnded(exchange: EndedExchange): number | 'unknown' {
  try {
    const { costUsd } = exchange
    if (isCost(costUsd)) return toNanoUsd(costUsd)
    return costUsd === undefined && providerUseOf(exchange) === 'nothing' ? 0 : 'unknown'
  } catch {
    // A plugin has broken the exchange.
    return 'unknown'
  }
}

/**
 * Returns what budgets count in place of an unknown cost. Undefined if it is known, or without a budget. See
 * docs/decisions/limits.md, "What is assumed is recorded".
 */
export function assumedCostOf(exchange: EndedExchange): number | undefined {
  const worstCase = WorstCase.of(exchange)
  return worstCase !== undefined && costOfEnded(exchange) === 'unknown' ? worstCase : undefined
}
