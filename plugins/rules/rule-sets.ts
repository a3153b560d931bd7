import { type ChatRequest, type Exchange, type RuleSet, slot } from '../../core/contract/index.ts'
import { chain, type MaybePromise } from '../../core/util/maybe-promise.ts'

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

/** The request as the firewall rules of each policy left it. */
const judged = slot<Map<RuleSet, ChatRequest>>('rules.judged')

/**
 * Keeps the request for the conditions of a policy's routing rules: masks of later rules hide nothing from
 * them. See docs/decisions/policies.md, "Conditions of a policy see what later masks hide".
 */
export function keepJudgedRequest(exchange: Exchange, policy: RuleSet): void {
  const requests = judged.of(exchange) ?? new Map<RuleSet, ChatRequest>()
  judged.set(exchange, requests.set(policy, exchange.request))
}

/** The request as a policy's firewall rules left it; undefined if it is the one that is sent. */
export function findJudgedRequest(exchange: Exchange, policy: RuleSet): ChatRequest | undefined {
  const request = judged.of(exchange)?.get(policy)
  return request === exchange.request ? undefined : request
}
