import type { EndedExchange } from '../contract/index.ts'
import { isCost, toNanoUsd } from './cost.ts'
import { providerUseOf } from './provider-use.ts'

/** Where `exchange.state` has what budgets have reserved: a WeakMap costs several times as much. */
export const HELD_BUDGET = 'signalbox:budget'

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
  const held: { readonly worstCase: number } | undefined = exchange.state[HELD_BUDGET]
  return held !== undefined && costOfEnded(exchange) === 'unknown' ? held.worstCase : undefined
}
