import type { Registry } from 'prom-client'
import {
  AppendTooLargeError,
  type EventLog,
  EventLogUnavailableError,
  StreamDamagedError,
  WrongExpectedRevisionError,
} from '../contract/event-log.ts'
import { createHistogram } from '../util/metrics.ts'

/** Returns a decorator that records the duration and outcome of every append. */
export function withAppendMetrics(metrics: Registry): (log: EventLog) => EventLog {
  const duration = createHistogram(metrics, {
    name: 'signalbox_event_log_append_duration_seconds',
    help: 'Duration of appends to the event log until the events are on disk, by outcome.',
    labelNames: ['outcome'],
    buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5],
  })
  return (log) => ({
    append(stream, events, options) {
      const startedAt = performance.now()
      const observe = (outcome: string) => {
        duration(outcome).observe((performance.now() - startedAt) / 1000)
      }
      return log.append(stream, events, options).then(
        (appended) => {
          observe('written')
          return appended
        },
        (error) => {
          observe(outcomeOf(error))
          throw error
        },
      )
    },
    read: (stream, from) => log.read(stream, from),
    subscribe: (...args) => log.subscribe(...args),
    poll: () => log.poll?.(),
    close: () => log.close(),
  })
}

function outcomeOf(error: unknown): string {
  if (WrongExpectedRevisionError.isInstance(error)) return 'conflict'
  if (EventLogUnavailableError.isInstance(error) && error.accessDenied) return 'denied'
  if (StreamDamagedError.isInstance(error)) return 'damaged'
  return AppendTooLargeError.isInstance(error) ? 'too_large' : 'failed'
}
