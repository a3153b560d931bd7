import type { Registry } from 'prom-client'
import type { RequestObserver, Target } from '../../core/contract/index.ts'
import { billedTarget, StoredReply } from '../../core/pipeline/usage-recorder.ts'
import { isCost } from '../../core/prices/cost.ts'
import { type CounterSeries, createCounter } from '../../core/util/metrics.ts'
import type { Groups } from '../../projections/groups.ts'

/** Groups with a series of their own; the others share one. */
const MAX_GROUPS = 100

/** Counts the cost of replies by group. A reply counts for each group of its user. */
export function observeGroupCosts(metrics: Registry, groups: Pick<Groups, 'groupsOf'>): RequestObserver {
  const cost = createCounter(metrics, {
    name: 'signalbox_group_cost_usd_total',
    help: 'Cost of replies in US dollars, by group of the user. A reply counts for each group.',
    labelNames: ['group'],
  })
  const series = new Map<number, CounterSeries>()

  function seriesOf(groupId: number): CounterSeries {
    let own = series.get(groupId)
    if (own !== undefined) return own
    if (series.size >= MAX_GROUPS) return cost('other')
    own = cost(String(groupId))
    series.set(groupId, own)
    return own
  }

  return ({ account, exchange }) => {
    const costUsd = exchange?.costUsd
    if (account === undefined || !isCost(costUsd) || costUsd === 0) return
    for (const groupId of groups.groupsOf(account.userId)) seriesOf(groupId).inc(costUsd)
  }
}

/** Counts the cost and the tokens of replies, by provider and model. */
export function observeCosts(metrics: Registry, providers: ReadonlySet<string>): RequestObserver {
  const cost = createCounter(metrics, {
    name: 'signalbox_cost_usd_total',
    help: 'Cost of replies in US dollars, by the prices of the catalogue.',
    labelNames: ['provider', 'model'],
  })
  const unknown = createCounter(metrics, {
    name: 'signalbox_cost_unknown_total',
    help: 'Replies whose cost is unknown, because the model has no price or the usage was not reported.',
    labelNames: ['provider', 'reason'],
  })
  const tokens = createCounter(metrics, {
    name: 'signalbox_tokens_total',
    help: 'Tokens by type. input includes cached and cache_write, output includes reasoning.',
    labelNames: ['provider', 'model', 'type'],
  })
  const providerOf = (target: Target) => (providers.has(target.provider) ? target.provider : 'other')

  return ({ exchange }) => {
    // A stored reply costs nothing and uses no tokens.
    if (exchange?.costUsd === undefined || StoredReply.of(exchange)) return
    const { usage, costUsd } = exchange
    const target = billedTarget(exchange)
    if (target === undefined) {
      if (costUsd === null) unknown('other', 'price').inc()
      return
    }
    const provider = providerOf(target)
    const model = target.entry?.id ?? 'other'
    if (!isCost(costUsd)) unknown(provider, usage === undefined ? 'usage' : 'price').inc()
    else cost(provider, model).inc(costUsd)
    if (usage === undefined) return
    const count = (type: string, amount = 0) => {
      if (amount > 0) tokens(provider, model, type).inc(amount)
    }
    count('input', usage.input)
    count('cached', usage.cached)
    count('cache_write', usage.cacheWrite)
    count('output', usage.output)
    count('reasoning', usage.reasoning)
  }
}
