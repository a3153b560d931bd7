import type { EventLog, Position, RecordedEvent } from '../contract/event-log.ts'

/** Every followed event after a position, up to the newest there is now. */
export async function* readToEnd(log: EventLog, from: Position = 0): AsyncGenerator<RecordedEvent> {
  const leaving = new AbortController()
  try {
    for await (const item of log.follow(from, leaving.signal)) {
      if (item === 'caught-up') return
      yield item
    }
  } finally {
    leaving.abort()
  }
}
