import type { Registry } from 'prom-client'
import type { EndedRequest, RequestObserver } from '../../core/contract/index.ts'
import { createHistogram } from '../../core/metrics/histogram.ts'

/** What the gateway itself adds to inference requests. */
export function observeOverhead(metrics: Registry): RequestObserver {
  const overhead = createHistogram(metrics, {
    name: 'signalbox_overhead_seconds',
    help: 'Time of an inference request before the first call to a vendor and after the last; of a stream only before.',
    labelNames: ['endpoint'],
    buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1],
  })
  return (request) => {
    const ms = overheadOf(request)
    if (ms !== undefined) overhead(request.endpoint ?? 'other').observe(ms / 1000)
  }
}

/** Milliseconds; undefined when no vendor was called, or the client left and so decided the end. */
function overheadOf({ exchange, startedAt, endedAt, isAborted }: EndedRequest): number | undefined {
  const first = exchange?.attempts[0]
  const last = exchange?.attempts.at(-1)
  if (first === undefined || last === undefined || isAborted) return undefined
  const before = first.startedAt - startedAt
  const isStream = exchange?.reply?.type === 'stream'
  return isStream ? before : before + endedAt - (last.startedAt + last.ms)
}
