import type { Registry } from 'prom-client'
import type { RequestObserver } from '../../core/contract/index.ts'
import { createCounter } from '../../core/metrics/counter.ts'
import { createHistogram } from '../../core/metrics/histogram.ts'

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
