import type { Registry } from 'prom-client'
import { type EventLog, WrongExpectedRevisionError } from '../contract/event-log.ts'
import { isExpiring } from '../events/streams.ts'
import { createHistogram } from '../util/metrics.ts'

/** Makes of a log one that acts the same, and tells the metrics how long appends take and what becomes of them. */
export function withAppendMetrics(metrics: Registry): (log: EventLog) => EventLog {
  const duration = createHistogram(metrics, {
    name: 'signalbox_event_log_append_duration_seconds',
    help: 'Appends to the event log until they are on disk, by what became of them.',
    labelNames: ['streams', 'outcome'],
    buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5],
  })
  return (log) => ({
    append(stream, events, options) {
      const startedAt = performance.now()
      const note = (outcome: string) => {
        const seconds = (performance.now() - startedAt) / 1000
        duration(isExpiring(stream) ? 'responses' : 'history', outcome).observe(seconds)
      }
      return log.append(stream, events, options).then(
        (appended) => {
          note('written')
          return appended
        },
        (error) => {
          note(WrongExpectedRevisionError.isInstance(error) ? 'conflict' : 'failed')
          throw error
        },
      )
    },
    read: (stream, from) => log.read(stream, from),
    subscribe: (...args) => log.subscribe(...args),
    poll: () => log.poll?.(),
    deleteStream: (stream) => log.deleteStream(stream),
    close: () => log.close(),
  })
}
