import type { EventLog, Position, RecordedEvent } from '../contract/event-log.ts'

/** Every followed event after a position, up to the newest there is now; only of streams whose names begin with `streams`, if given. */
export async function* readToEnd(
  log: Pick<EventLog, 'subscribe'>,
  from: Position = 0,
  streams?: string,
): AsyncGenerator<RecordedEvent> {
  const leaving = new AbortController()
  try {
    for await (const item of log.subscribe(from, leaving.signal, streams)) {
      if (item === 'caught-up') return
      yield item
    }
  } finally {
    leaving.abort()
  }
}
