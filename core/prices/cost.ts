import type { Model, Price, Usage } from '../contract/index.ts'

/** Money is summed in billionths of a US dollar. See docs/decisions/ledger.md, "Costs are integers". */
export const NANOS_PER_USD = 1e9

export function toNanoUsd(usd: number): number {
  return Math.round(usd * NANOS_PER_USD)
}

/** Whether it may be added to a sum: one that a plugin has set could be NaN, which stays in it for ever. */
export function isCost(usd: unknown): usd is number {
  return Number.isFinite(usd) && Number(usd) >= 0
}

/** Rounds US dollars to billionths (docs/guides/costs.md, "Cost of a request"): JSON shows no more digits. */
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

/** What a provider charges besides tokens of the usual tier: `tiers` and `tool_fees` of its row. */
export interface ProviderTerms {
  /** Factors of the usual price, by service tier. */
  readonly tiers?: Readonly<Record<string, number>> | undefined
  /** USD per 1,000 calls, by tool. */
  readonly tool_fees?: Readonly<Record<string, number>> | undefined
}

/** Bounds the price of a tier that has none: the most that a provider is known to charge. */
const DEAREST_TIER = 2.5

/**
 * Returns the cost of a reply in USD with its service tier and the fees of its tools; undefined if one of
 * them has no price. An estimated usage costs what it may cost at most. See docs/decisions/cost.md, "What a
 * caller can ask for has its price".
 */
export function replyCost(
  model: Pick<Model, 'price'>,
  usage: Usage,
  { tiers = {}, tool_fees: fees = {} }: ProviderTerms = {},
): number | undefined {
  const { tier, toolCalls, isEstimated = false } = usage
  let factor: number | undefined = 1
  if (tier !== undefined) {
    // Without a prototype: callers and providers choose the names.
    const factors: ProviderTerms['tiers'] & object = Object.assign(
      Object.create(null),
      tiers,
      model.price.tiers,
    )
    factor = isEstimated ? boundTier(factors, tier) : factors[tier]
  }
  let total = 0
  for (const name in toolCalls) {
    const fee = Object.hasOwn(fees, name) ? fees[name] : isEstimated ? 0 : undefined
    if (fee === undefined) return undefined
    total += (fee * (toolCalls[name] ?? 0)) / 1000
  }
  return factor === undefined ? undefined : factor * costOf(model, usage) + total
}

/** The provider may serve the usual tier instead, and decides itself about `auto`. */
function boundTier(factors: Readonly<Record<string, number>>, tier: string): number {
  return Math.max(1, ...(tier === 'auto' ? Object.values(factors) : [factors[tier] ?? DEAREST_TIER]))
}

function selectPrice({ price }: Pick<Model, 'price'>, inputTokens: number): Price {
  return price.above !== undefined && inputTokens > price.above.input_tokens ? price.above : price
}
