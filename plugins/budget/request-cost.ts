import type { Host, ReplyingExchange, Route, Target } from '../../core/contract/index.ts'
import { NANOS_PER_USD } from '../../core/prices/cost.ts'
import { askedTerms, asksForHourCache } from '../../core/prices/price-terms.ts'
import { maxReplyTokens, PromptTokens, promptTokensOf } from '../../core/tokens/prompt-tokens.ts'
import { targetsToTry } from '../dispatch/index.ts'

type CostOf = Host['costOf']

/** A target whose price is not known. */
export class UnknownPriceError extends Error {
  readonly target: Target

  constructor(target: Target) {
    super(`no price is known for ${target.provider}/${target.model}`)
    this.name = 'UnknownPriceError'
    this.target = target
  }
}

/**
 * Returns the most that a request can cost, in billionths of a US dollar, at the most expensive target that
 * it may be sent to: only one of them replies. Throws an `UnknownPriceError`. See docs/decisions/limits.md,
 * "The most expensive target is reserved".
 */
export function worstCaseOf(
  { request, operation }: Pick<ReplyingExchange, 'request' | 'operation'>,
  route: Route,
  costOf: CostOf,
) {
  const prompt = new PromptTokens(request, operation)
  const terms = { ...askedTerms(request), isEstimated: true as const }
  const costs = targetsToTry(route).map((target) => {
    // What a file adds is not known, so it counts as the whole context.
    const input = promptTokensOf(prompt, request, target, operation, Number.POSITIVE_INFINITY)
    const output = maxReplyTokens(request, target.entry, operation)
    // Some providers charge more for input that they write to their cache.
    const plain = costOf({ input, output, ...terms }, target)
    const cacheWriteHour = asksForHourCache(request) ? input : 0
    const written = costOf({ input, output, cacheWrite: input, cacheWriteHour, ...terms }, target)
    if (plain === undefined || written === undefined) throw new UnknownPriceError(target)
    return Math.max(plain, written)
  })
  return Math.ceil(Math.max(0, ...costs) * NANOS_PER_USD)
}
