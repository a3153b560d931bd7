import type { Registry } from 'prom-client'
import type { OperatorRegistry, RequestObserver, RuleTraceEntry } from '../../core/contract/index.ts'
import { type CounterSeries, createCounter, createHistogram } from '../../core/util/metrics.ts'

/** The label value for unknown endpoints, whose paths and methods are arbitrary input of clients. */
const OTHER = 'other'

/** Counts all requests and measures their duration. */
export function observeHttpRequests(metrics: Registry): RequestObserver {
  const requests = createCounter(metrics, {
    name: 'signalbox_http_requests_total',
    help: 'Ended requests by endpoint, method, status (or client_disconnected) and plan.',
    labelNames: ['endpoint', 'method', 'status', 'plan'],
  })
  const duration = createHistogram(metrics, {
    name: 'signalbox_http_request_duration_seconds',
    help: 'Time from the request headers to the end of the response, including streaming.',
    labelNames: ['endpoint'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120],
  })
  return (request) => {
    const { endpoint = OTHER, startedAt, endedAt, account } = request
    const method = request.endpoint === undefined ? OTHER : request.method
    const status = request.isAborted ? 'client_disconnected' : String(request.status)
    requests(endpoint, method, status, account?.plan ?? 'none').inc()
    duration(endpoint).observe((endedAt - startedAt) / 1000)
  }
}

/** Measures the time that the gateway itself adds to the requests of model clients. */
export function observeOverhead(metrics: Registry): RequestObserver {
  const overhead = createHistogram(metrics, {
    name: 'signalbox_overhead_seconds',
    help: 'Time of the gateway itself until the head of the response to a model client.',
    labelNames: ['endpoint'],
    buckets: [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1],
  })
  return (request) => {
    const { overheadMs, endpoint = OTHER, isAborted } = request
    if (overheadMs !== undefined && !isAborted) overhead(endpoint).observe(overheadMs / 1000)
  }
}

const FIREWALL_ACTIONS: readonly string[] = ['block', 'mask', 'warn'] satisfies RuleTraceEntry['action'][]

/** Counts the actions of matching rules by outcome. */
export function observeRuleActions(metrics: Registry, operators: OperatorRegistry): RequestObserver {
  const actions = createCounter(metrics, {
    name: 'signalbox_rule_actions_total',
    help: 'Actions of matching rules by kind of rule, scope of firewall rules, action and outcome.',
    labelNames: ['kind', 'scope', 'action', 'outcome'],
  })
  // Stored rules can contain actions of plugins that are no longer installed.
  const isKnown = ({ kind, action }: RuleTraceEntry) =>
    kind === 'firewall' ? FIREWALL_ACTIONS.includes(action) : operators.actions.has(action)

  const seriesOf = (entry: RuleTraceEntry) =>
    actions(entry.kind, scopeOf(entry), isKnown(entry) ? entry.action : OTHER, entry.outcome)

  return ({ exchange }) => {
    let last: { readonly entry: RuleTraceEntry; readonly series: CounterSeries } | undefined
    for (const entry of exchange?.trace ?? []) {
      // Entries of the same series are often adjacent, so the lookup is skipped for them.
      if (last === undefined || !hasSameLabels(entry, last.entry)) last = { entry, series: seriesOf(entry) }
      last.series.inc()
    }
  }
}

/** Only firewall rules have a scope. */
function scopeOf({ kind, scope }: RuleTraceEntry): string {
  return kind === 'firewall' ? (scope ?? 'prompt') : 'none'
}

function hasSameLabels(one: RuleTraceEntry, other: RuleTraceEntry): boolean {
  return (
    one.kind === other.kind &&
    one.scope === other.scope &&
    one.action === other.action &&
    one.outcome === other.outcome
  )
}
