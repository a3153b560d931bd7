import type { Exchange, RuleSet } from '../contract/index.ts'
import { chain, type MaybePromise } from './maybe-promise.ts'

/**
 * Calls `apply` for the rules of each policy and then for the user's own, one after the other. An error ends
 * the walk. See docs/decisions/policies.md, "A request walks the rule sets of its policies".
 */
export function forEachRuleSet(
  exchange: Pick<Exchange, 'policies' | 'rules'>,
  apply: (rules: RuleSet) => MaybePromise<void>,
): MaybePromise<void> {
  return exchange.policies.length === 0 ? apply(exchange.rules) : applyFrom(0, exchange, apply)
}

function applyFrom(
  index: number,
  exchange: Pick<Exchange, 'policies' | 'rules'>,
  apply: (rules: RuleSet) => MaybePromise<void>,
): MaybePromise<void> {
  const policy = exchange.policies[index]
  if (policy === undefined) return apply(exchange.rules)
  return chain(apply(policy), () => applyFrom(index + 1, exchange, apply))
}
