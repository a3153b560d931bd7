import type { Registry } from 'prom-client'
import type { OperatorRegistry, RequestObserver, RuleTraceEntry } from '../../core/contract/index.ts'
import { type CounterSeries, createCounter } from '../../core/metrics/counter.ts'

const FIREWALL_ACTIONS: readonly string[] = ['block', 'mask', 'warn'] satisfies RuleTraceEntry['action'][]

/** What became of the actions of matching rules. */
export function observeRuleOutcomes(metrics: Registry, vocabulary: OperatorRegistry): RequestObserver {
  const outcomes = createCounter(metrics, {
    name: 'signalbox_rule_actions_total',
    help: 'Actions of rules that matched a request, by kind of rule, action and what became of it.',
    labelNames: ['kind', 'action', 'outcome'],
  })
  // A stored rule may hold an action whose plugin is gone.
  const isKnown = ({ kind, action }: RuleTraceEntry) =>
    kind === 'firewall' ? FIREWALL_ACTIONS.includes(action) : vocabulary.actions.has(action)

  const seriesOf = (entry: RuleTraceEntry) =>
    outcomes(entry.kind, isKnown(entry) ? entry.action : 'other', entry.outcome)

  return ({ exchange }) => {
    let last: { readonly entry: RuleTraceEntry; readonly series: CounterSeries } | undefined
    for (const entry of exchange?.trace ?? []) {
      // What many rules have done alike comes one after the other.
      if (last === undefined || !isAlike(entry, last.entry)) last = { entry, series: seriesOf(entry) }
      last.series.inc()
    }
  }
}

function isAlike(one: RuleTraceEntry, other: RuleTraceEntry): boolean {
  return one.kind === other.kind && one.action === other.action && one.outcome === other.outcome
}
