import type { Registry } from 'prom-client'
import type {
  EndedRequest,
  OperatorRegistry,
  RequestObserver,
  RuleTraceEntry,
} from '../../core/contract/index.ts'
import { type CounterSeries, createCounter, createHistogram } from '../../core/util/metrics.ts'

/** Where the endpoint is none of ours: paths and methods are then whatever a caller makes up. */
const OTHER = 'other'

/** Every request on every address, by endpoint, status and plan. */
export function observeHttpRequests(metrics: Registry): RequestObserver {
  const requests = createCounter(metrics, {
    name: 'signalbox_http_requests_total',
    help: 'Requests whose answer has ended. The status is "left" when the client did not wait for the end.',
    labelNames: ['endpoint', 'method', 'status', 'plan'],
  })
  const duration = createHistogram(metrics, {
    name: 'signalbox_http_request_duration_seconds',
    help: 'From the head of a request to the end of its answer, streams included.',
    labelNames: ['endpoint'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120],
  })
  return (request) => {
    const { endpoint = OTHER, status, isAborted, startedAt, endedAt, account } = request
    const method = request.endpoint === undefined ? OTHER : request.method
    requests(endpoint, method, isAborted ? 'left' : String(status), account?.plan ?? 'none').inc()
    duration(endpoint).observe((endedAt - startedAt) / 1000)
  }
}

/** What the gateway itself adds to inference requests. */
export function observeOverhead(metrics: Registry): RequestObserver {
  const overhead = createHistogram(metrics, {
    name: 'signalbox_overhead_seconds',
    help: 'Time of an inference request before the first call to a provider and after the last; of a stream only before.',
    labelNames: ['endpoint'],
    buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1],
  })
  return (request) => {
    const ms = overheadOf(request)
    if (ms !== undefined) overhead(request.endpoint ?? 'other').observe(ms / 1000)
  }
}

/** Milliseconds; undefined when no provider was called, or the client left and so decided the end. */
function overheadOf({ exchange, startedAt, endedAt, isAborted }: EndedRequest): number | undefined {
  const first = exchange?.attempts[0]
  const last = exchange?.attempts.at(-1)
  if (first === undefined || last === undefined || isAborted) return undefined
  const before = first.startedAt - startedAt
  const isStream = exchange?.reply?.type === 'stream'
  return isStream ? before : before + endedAt - (last.startedAt + last.ms)
}

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
