import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { type EventLog, LogUnavailable, type Position, type RecordedEvent } from '../core/contract/index.ts'
import { type DomainEvent, decodeEvent } from '../core/events/codec.ts'

export interface Projection {
  apply(event: DomainEvent, record: RecordedEvent): void
}

/** Projections that follow the log. */
export interface Live {
  /** Resolves when everything that was in the log at the start is applied. */
  readonly caughtUp: Promise<void>
  /** Rejects when an event cannot be applied: the process must not go on with half a state. Never resolves before `close`. */
  readonly ended: Promise<void>
  position(): Position
  /** Resolves when the condition holds, looking again after every applied event. */
  until(condition: () => boolean): Promise<void>
  close(): Promise<void>
}

const RETRY_MS = { first: 100, most: 5000 }

/** Applies every event of the log to the projections, one after the other, and comes back when the log was away. */
export function followLog(log: EventLog, projections: readonly Projection[], logger: Logger): Live {
  const stop = new AbortController()
  const waiters = new Set<{ condition: () => boolean; resolve: () => void }>()
  let position: Position = 0

  function apply(record: RecordedEvent): void {
    const event = decodeEvent(record)
    if (event !== undefined) for (const projection of projections) projection.apply(event, record)
    position = record.position
    for (const waiter of waiters) {
      if (!waiter.condition()) continue
      waiters.delete(waiter)
      waiter.resolve()
    }
  }

  async function follow(markCaughtUp: () => void): Promise<void> {
    let delay = RETRY_MS.first
    while (!stop.signal.aborted) {
      try {
        for await (const record of log.follow(position, stop.signal)) {
          delay = RETRY_MS.first
          if (record === 'caught-up') markCaughtUp()
          else apply(record)
        }
      } catch (error) {
        if (!(error instanceof LogUnavailable)) throw error
        logger.warn({ err: error }, 'the event log is away; following it again soon')
        await sleep(delay, undefined, { signal: stop.signal }).catch(() => undefined)
        delay = Math.min(delay * 2, RETRY_MS.most)
      }
    }
  }

  let ended: Promise<void> = Promise.resolve()
  const caughtUp = new Promise<void>((resolve, reject) => {
    ended = follow(resolve)
    ended.catch(reject)
  })

  return {
    caughtUp,
    ended,
    position: () => position,
    until(condition) {
      if (condition()) return Promise.resolve()
      return new Promise((resolve) => waiters.add({ condition, resolve }))
    },
    async close() {
      stop.abort()
      await ended
    },
  }
}
