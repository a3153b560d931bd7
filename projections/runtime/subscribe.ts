import type { Logger } from 'pino'
import {
  type EventLog,
  EventLogReplacedError,
  EventLogUnavailableError,
  type Position,
  type RecordedEvent,
} from '../../core/contract/index.ts'
import { exponentialBackoff, retry } from '../../core/threads/retry.ts'
import { checkLogUnchanged, type EventReference, toEventReference } from './check-log.ts'
import { type AppliedListener, createEventReceiver, type PluginEventListener } from './event-receiver.ts'
import { createOutageLog } from './outage-log.ts'
import type { Projection } from './projection.ts'
import { ConditionWaiters } from './queues.ts'
import { createStreamHealth, type DamagedStream, type StreamHealth } from './stream-health.ts'

/**
 * `catching-up` until all events that were in the log at the start have been applied; then `following`, or
 * `away` while the log is unavailable. `denied` while the log rejects the credentials or lacks a permission.
 * Finally, `damaged` if its file is, or `replaced` if it is not the same log any more. Clients read these
 * values in `/readyz`.
 */
type SubscriptionState = 'catching-up' | 'following' | 'away' | 'denied' | 'damaged' | 'replaced'

/**
 * Prepares what an event needs once it is applied. May read the log, also while it counts as away for others.
 */
type Preparation = (record: RecordedEvent, log: Pick<EventLog, 'read'>) => Promise<void> | undefined

/** Keeps projections up to date with the event log. */
export interface Subscription {
  /** Resolves when all events that were in the log at the start have been applied. */
  readonly caughtUp: Promise<void>
  /**
   * Rejects if an event cannot be applied, or with an `EventLogReplacedError`; the process must then exit,
   * because its state is not that of the log. Resolves only after `close`.
   */
  readonly ended: Promise<void>
  state(): SubscriptionState
  position(): Position
  /** The newest event that was applied or skipped; undefined before the first one since the start. */
  newest(): RecordedEvent | undefined
  /** Number of events received since the start, without the log's id and checkpoints. */
  received(): number
  /**
   * Number of received events that only a newer version can decode. Events of unlisted plugins do not count.
   */
  skipped(): number
  /** Number of received events that are not of Signalbox, or malformed. */
  foreign(): number
  /** Streams that cannot be read completely. */
  damaged(): readonly DamagedStream[]
  /** See `StreamHealth`. */
  appendRevision(stream: string, revision: number): number
  holdsNewerEvents(stream: string): boolean
  /** Throws an `EventLogReplacedError`, or an `EventLogUnavailableError` while the log is away. */
  checkAvailable(): void
  /** Throws an `EventLogUnavailableError` if the file of the log is damaged: nothing may be written to it. */
  checkUndamaged(): void
  /** Notes that the file of the log is damaged, which is logged once. */
  noteDamage(error: EventLogUnavailableError): void
  /** Notes the outcome of a call of the log. Logs a failure once per outage and kind. */
  noteOutcome(error?: unknown): void
  /** Calls the listener for every further event, also for those that are skipped. */
  onReceived(listener: (record: RecordedEvent) => void): void
  /** Calls the listener for every event that is applied after catching up. */
  onApplied(listener: AppliedListener): void
  /**
   * Applies each further event when its preparation has resolved, and those behind it later. If it rejects
   * with `EventLogUnavailableError`, the event is received again once the log is available. Replaces the
   * previous preparation.
   */
  prepareEvents(preparation: Preparation): void
  /** Calls the listener for every further event of a plugin's stream. Replaces the previous listener. */
  onPluginEvent(listener: PluginEventListener): void
  /**
   * Resolves when the condition holds, which is checked after every event. Rejects with
   * `EventLogUnavailableError` after `timeoutMs`, if given.
   */
  until(condition: () => boolean, timeoutMs?: number): Promise<void>
  /**
   * Checks that the log is still the one that the events came from. Rejects with an `EventLogReplacedError`
   * after the state has become `replaced`, or with `EventLogUnavailableError`.
   */
  checkLog(): Promise<void>
  close(): Promise<void>
}

interface SubscriptionOptions {
  /** Id of the event log; undefined if the log is not checked. */
  readonly logId?: string
  /** The newest event of the projections' state; undefined for the state before the first event. */
  readonly newest?: EventReference | undefined
  readonly health?: StreamHealth
}

/**
 * Applies every event after `newest` to the projections, in log order. While the log is unavailable, retries
 * with exponential backoff and continues after the last applied event, once it has checked that the log is
 * still the same one.
 */
export function subscribeProjections(
  log: EventLog,
  projections: readonly Projection[],
  logger: Logger,
  { logId, newest: start, health = createStreamHealth() }: SubscriptionOptions = {},
): Subscription {
  const abort = new AbortController()
  const waiters = new ConditionWaiters()
  let prepare: Preparation = () => undefined
  const outage = createOutageLog(logger)
  let state: Exclude<SubscriptionState, 'denied' | 'damaged'> = 'catching-up'
  let damage: EventLogUnavailableError | undefined
  let isCaughtUp = false
  const receiver = createEventReceiver({
    projections,
    health,
    logger,
    isLive: () => isCaughtUp,
    onChange: () => waiters.check(),
  })
  const { newest, counts } = receiver

  function noteDamage(error: EventLogUnavailableError): void {
    if (damage !== undefined) return
    damage = error
    const message = 'event log damaged; changes are refused, and requests are served with the rules in memory'
    logger.error({ reason: error.message }, message)
  }

  const backoff = exponentialBackoff({ firstMs: 100, maxMs: 1000 })
  const position = () => newest()?.position ?? start?.position ?? 0
  let reportReplaced: (error: EventLogReplacedError) => void = () => undefined
  const replaced = new Promise<never>((_, reject) => {
    reportReplaced = reject
  })
  replaced.catch(() => undefined)

  async function checkLog(): Promise<void> {
    if (logId === undefined) return
    const last = newest()
    try {
      await checkLogUnchanged(log, logId, last ? toEventReference(last) : start)
    } catch (error) {
      if (EventLogReplacedError.isInstance(error)) markReplaced(error)
      throw error
    }
  }

  function markReplaced(error: EventLogReplacedError): void {
    if (state === 'replaced') return
    state = 'replaced'
    logger.fatal({ reason: error.message }, 'event log replaced; the gateway must be started again')
    reportReplaced(error)
    abort.abort(error)
  }

  /** Applies events until the subscription is closed. Rejects if the log becomes unavailable. */
  async function follow(resolveCaughtUp: () => void): Promise<void> {
    await checkLog()
    let isChecked = false
    receiver.restart()
    for await (const item of log.subscribe(position(), abort.signal, undefined, receiver.receiveAnomaly)) {
      // Checked again on the connection that the events come from, before any of them is applied.
      if (!isChecked) await checkLog()
      isChecked = true
      if (abort.signal.aborted) return
      backoff.reset()
      if (item !== 'caught-up') {
        const prepared = prepare(item, log)
        if (prepared !== undefined) await prepared
        if (abort.signal.aborted) return
        const received = receiver.receive(item, abort.signal)
        if (received !== undefined) await received
      } else {
        const flushed = receiver.flush(abort.signal)
        if (flushed !== undefined) await flushed
        if (abort.signal.aborted) return
        if (state === 'away') logger.info('event log available again')
        state = 'following'
        outage.end()
        isCaughtUp = true
        resolveCaughtUp()
      }
    }
    if (!abort.signal.aborted) throw new EventLogUnavailableError('the event log ended the subscription')
  }

  async function run(resolveCaughtUp: () => void): Promise<void> {
    await retry(() => follow(resolveCaughtUp), {
      backoff,
      signal: abort.signal,
      // A state that begins with a damaged log would lack rules.
      shouldRetry: (error) => EventLogUnavailableError.isInstance(error) && (isCaughtUp || !error.damaged),
      onRetry(error) {
        if (EventLogUnavailableError.isInstance(error) && error.damaged) return noteDamage(error)
        state = 'away'
        outage.note(error, 'event log unavailable; retrying')
      },
    }).catch((error) => {
      if (EventLogReplacedError.isInstance(error)) markReplaced(error)
      if (error !== abort.signal.reason) throw error
    })
    if (state === 'replaced') await replaced
  }

  let ended: Promise<void> = Promise.resolve()
  const caughtUp = new Promise<void>((resolve, reject) => {
    ended = run(resolve)
    ended.catch(reject)
  })

  return {
    caughtUp,
    ended,
    state() {
      if (state === 'replaced') return state
      if (damage !== undefined) return 'damaged'
      return outage.isDenied() ? 'denied' : state
    },
    position,
    newest,
    received: () => counts.received,
    skipped: () => counts.skipped,
    foreign: () => counts.foreign,
    damaged: health.damaged,
    appendRevision: health.appendRevision,
    holdsNewerEvents: health.holdsNewerEvents,
    checkAvailable() {
      if (state === 'replaced') throw new EventLogReplacedError('changes are refused')
      if (state !== 'away') return
      const accessDenied = outage.isDenied()
      throw new EventLogUnavailableError('the event log is unavailable', { transient: true, accessDenied })
    },
    checkUndamaged() {
      if (damage !== undefined) throw damage
    },
    noteDamage,
    noteOutcome(error) {
      if (EventLogUnavailableError.isInstance(error) && error.damaged) return noteDamage(error)
      if (error === undefined && state === 'following') outage.end()
      else if (error !== undefined) outage.note(error, 'event log call failed')
    },
    onReceived: receiver.onReceived,
    onApplied: receiver.onApplied,
    prepareEvents(preparation) {
      prepare = preparation
    },
    onPluginEvent: receiver.onPluginEvent,
    until: (condition, timeoutMs) => waiters.wait(condition, timeoutMs),
    checkLog,
    async close() {
      abort.abort()
      await ended.catch((error) => {
        if (!EventLogReplacedError.isInstance(error)) throw error
      })
    },
  }
}
