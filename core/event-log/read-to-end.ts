import type { EventLog, Position, RecordedEvent, StreamAnomaly } from '../contract/event-log.ts'

/**
 * Reads the events after `from` in log order and ends once it has caught up. `streams`, a category with its
 * `-`, restricts the read to that category; `ALL_STREAMS` extends it to those that nobody follows.
 */
export async function* readToEnd(
  log: Pick<EventLog, 'subscribe'>,
  from: Position = 0,
  streams?: string,
  onAnomaly?: (anomaly: StreamAnomaly) => void,
): AsyncGenerator<RecordedEvent> {
  const abort = new AbortController()
  try {
    for await (const item of log.subscribe(from, abort.signal, streams, onAnomaly)) {
      if (item === 'caught-up') return
      yield item
    }
  } finally {
    abort.abort()
  }
}
