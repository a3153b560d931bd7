import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import {
  type EventLog,
  EventLogUnavailableError,
  type Position,
  type RecordedEvent,
} from '../../core/contract/index.ts'
import { decodeEvent } from '../../core/events/codec.ts'
import { isPluginStream } from '../../core/events/plugin-events.ts'
import type { Projection } from '../projection.ts'
import { ConditionWaiters } from './queues.ts'

/** `catching-up` until what was in the log at the start is applied; then `following`, or `away` while the log is. */
type SubscriptionState = 'catching-up' | 'following' | 'away'

/** Hears of an applied event, and of the time from its metadata's `time` until then. */
type AppliedListener = (record: RecordedEvent, delayMs: number) => void

/** Hears of an event in a plugin's stream; false when nobody could read it. */
type PluginEventListener = (record: RecordedEvent) => boolean

/** Projections that follow the log. */
export interface Subscription {
  /** Resolves when everything that was in the log at the start is applied. */
  readonly caughtUp: Promise<void>
  /** Rejects when an event cannot be applied: the process must not go on with half a state. Never resolves before `close`. */
  readonly ended: Promise<void>
  state(): SubscriptionState
  position(): Position
  /** The newest event that was applied or skipped here; undefined before the first since the start. */
  newest(): RecordedEvent | undefined
  /** Events taken from the log since the start. */
  received(): number
  /** Those of them that only a newer node can read; events of plugins that are not listed here are none. */
  skipped(): number
  /** Calls the listener for every event that is applied from now on, but not for those that were in the log at the start. */
  onApplied(listener: AppliedListener): void
  /** Calls this listener, and no other, for every event in a plugin's stream from now on. */
  onPluginEvent(listener: PluginEventListener): void
  /**
   * Resolves when the condition holds, looking again after every event. Rejects with `LogUnavailable` when that takes longer
   * than `patience`, in milliseconds.
   */
  until(condition: () => boolean, patience?: number): Promise<void>
  close(): Promise<void>
}

const RETRY_MS = { first: 100, most: 5000 }

/** Applies every event after `from` to the projections, one after the other, and comes back when the log was away. */
export function subscribeProjections(
  log: EventLog,
  projections: readonly Projection[],
  logger: Logger,
  from: Position = 0,
): Subscription {
  const stop = new AbortController()
  const waiters = new ConditionWaiters()
  const listeners: AppliedListener[] = []
  let applyPluginEvent: PluginEventListener = () => true
  const counts = { taken: 0, skipped: 0 }
  let state: SubscriptionState = 'catching-up'
  let isCaughtUp = false
  let newest: RecordedEvent | undefined

  function take(record: RecordedEvent): void {
    const isApplied = isPluginStream(record.stream) ? applyPluginEvent(record) : apply(record)
    if (!isApplied) counts.skipped += 1
    counts.taken += 1
    newest = record
    if (isApplied && isCaughtUp) tell(record)
    waiters.check()
  }

  function apply(record: RecordedEvent): boolean {
    const event = decodeEvent(record)
    if (event === undefined) return false
    for (const projection of projections) projection.apply(event, record)
    return true
  }

  function tell(record: RecordedEvent): void {
    // Clocks of other machines may be ahead of ours.
    const delay = Math.max(0, Date.now() - Date.parse(record.metadata.time))
    for (const listener of listeners) listener(record, delay)
  }

  async function follow(markCaughtUp: () => void): Promise<void> {
    let delay = RETRY_MS.first
    while (!stop.signal.aborted) {
      try {
        for await (const item of log.subscribe(newest?.position ?? from, stop.signal)) {
          delay = RETRY_MS.first
          if (item !== 'caught-up') take(item)
          else {
            if (state === 'away') logger.info('the event log is back')
            state = 'following'
            isCaughtUp = true
            markCaughtUp()
          }
        }
        if (!stop.signal.aborted) throw new EventLogUnavailableError('the event log has ended')
      } catch (error) {
        if (!EventLogUnavailableError.isInstance(error)) throw error
        state = 'away'
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
    state: () => state,
    position: () => newest?.position ?? from,
    newest: () => newest,
    received: () => counts.taken,
    skipped: () => counts.skipped,
    onApplied: (listener) => listeners.push(listener),
    onPluginEvent(listener) {
      applyPluginEvent = listener
    },
    until: (condition, patience) => waiters.wait(condition, patience),
    async close() {
      stop.abort()
      await ended
    },
  }
}
