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
  const terms = askedTerms(request)
  const isForAnHour = asksForHourCache(request)
  let most = 0
  for (const target of targetsToTry(route)) {
    // What a file adds is not known, so it counts as the whole context.
    const input = promptTokensOf(prompt, request, target, operation, Number.POSITIVE_INFINITY)
    const output = maxReplyTokens(request, target.entry, operation)
    const plain = costOf({ ...terms, input, output, isEstimated: true }, target)
    // Some providers charge more for input that they write to their cache.
    const cacheWriteHour = isForAnHour ? input : 0
    const written = costOf(
      { ...terms, input, output, cacheWrite: input, cacheWriteHour, isEstimated: true },
      target,
    )
    if (plain === undefined || written === undefined) throw new UnknownPriceError(target)
    most = Math.max(most, plain, written)
  }
  return Math.ceil(most * NANOS_PER_USD)
}
