import type { Model, Price, Usage } from '../contract/index.ts'

/** Money is summed in billionths of a US dollar. See docs/decisions/ledger.md, "Costs are integers". */
export const NANOS_PER_USD = 1e9

export function toNanoUsd(usd: number): number {
  return Math.round(usd * NANOS_PER_USD)
}

/** Rounds US dollars to billionths (docs/usage.md, "Cost of a request"): JSON shows no more digits. */
export function roundUsd(usd: number): number {
  return toNanoUsd(usd) / NANOS_PER_USD
}

/**
 * Returns the cost of a request in USD. Cached input and cache writes have prices of their own; the rest of
 * the input has the input price. A price tier applies to the whole request if its input exceeds the tier's
 * limit.
 */
export function costOf(model: Pick<Model, 'price'>, usage: Usage): number {
  const { input, output, cached = 0, cacheWrite = 0, cacheWriteHour = 0, priceFactor = 1 } = usage
  const price = selectPrice(model, input)
  const sum =
    Math.max(0, input - cached - cacheWrite) * price.input +
    cached * (price.cached ?? price.input) +
    Math.max(0, cacheWrite - cacheWriteHour) * (price.cache_write ?? price.input) +
    cacheWriteHour * 2 * price.input +
    output * price.output
  return (priceFactor * sum) / 1e6
}

function selectPrice({ price }: Pick<Model, 'price'>, inputTokens: number): Price {
  return price.above !== undefined && inputTokens > price.above.input_tokens ? price.above : price
}
