import type { Logger } from 'pino'
import { MAX_APPEND_BYTES, type RecordedEvent, type StreamAnomaly } from '../../core/contract/index.ts'
import { CHECKPOINTS_STREAM, LOG_STREAM } from '../../core/event-log/streams.ts'
import { isContinued } from '../../core/events/codec.ts'
import { isPluginStream } from '../../core/events/plugin-events.ts'
import { createCooperativeYield } from '../../core/util/cooperative-yield.ts'
import type { MaybePromise } from '../../core/util/maybe-promise.ts'
import { ROUTERS_STREAM } from '../events/routers.ts'
import { applyParsed, type ParsedRecord, type Projection, parseRecord } from './projection.ts'
import type { DamagedStream, StreamHealth } from './stream-health.ts'

/** Receives an applied event, and the milliseconds since its metadata's `time`. */
export type AppliedListener = (record: RecordedEvent, delayMs: number) => void

/** Receives an event of a plugin's stream. Returns false if no plugin could decode it. */
export type PluginEventListener = (record: RecordedEvent) => boolean

interface EventReceiverOptions {
  readonly projections: readonly Projection[]
  readonly health: StreamHealth
  readonly logger: Logger
  /** Whether there are readers and listeners: not while the events before the start are applied. */
  readonly isLive: () => boolean
  /** Called when the state has changed. */
  readonly onChange: () => void
}

/** Applies the events of a subscription to the projections. */
export interface EventReceiver {
  /** Numbers of events; see `Subscription`. */
  readonly counts: { received: number; skipped: number; foreign: number }
  /** The newest event that was applied or skipped, and can be read. */
  newest(): RecordedEvent | undefined
  /**
   * Receives the next event. Those of one append are applied together, so that no reader sees a part of a
   * change. They are parsed before, and listeners notified after, in time slices. See
   * docs/decisions/event-log.md, "The events of an append are applied in one turn".
   */
  receive(record: RecordedEvent, signal: AbortSignal): MaybePromise<void>
  receiveAnomaly(anomaly: StreamAnomaly): void
  /** Applies the events of an append whose last event is not in the log. */
  flush(signal: AbortSignal): MaybePromise<void>
  /** Forgets the events of an append that was not received completely. They will be received again. */
  restart(): void
  /** Calls the listener for each event, applied or skipped, when it is in the state and counted. */
  onReceived(listener: (record: RecordedEvent) => void): void
  onApplied(listener: AppliedListener): void
  onPluginEvent(listener: PluginEventListener): void
}

/**
 * How long events wait for the next one of their append, which arrives right behind them. If it does not,
 * somebody else has written them, and changes of their stream would wait for ever.
 */
const MAX_HOLD_MS = 2000

/** No append has as many events, each of which takes more bytes. Not more are held, whatever others write. */
const MAX_HELD_EVENTS = MAX_APPEND_BYTES / 50

/** Applying fewer events takes less than a millisecond, and needs no turn of its own. */
const MIN_EVENTS_FOR_OWN_TURN = 50

/** Events of the embedded log parse their data on first use, which would be when they are applied. */
function parseData({ data }: RecordedEvent): void {
  void data
}

export function createEventReceiver(options: EventReceiverOptions): EventReceiver {
  const { projections, health, logger, isLive, onChange } = options
  const listeners: AppliedListener[] = []
  const receivers: ((record: RecordedEvent) => void)[] = []
  let applyPluginEvent: PluginEventListener = () => true
  const counts = { received: 0, skipped: 0, foreign: 0 }
  const foreignStreams = new Set<string>()
  const slice = createCooperativeYield()
  /** Parsed events of an append whose last event has not been received. */
  let held: ParsedRecord[] = []
  let holdTimer: NodeJS.Timeout | undefined
  let newest: RecordedEvent | undefined

  /** Returns whether the event was applied. */
  function apply(parsed: ParsedRecord): boolean {
    const { record, kind } = parsed
    const { stream, revision } = record
    applyParsed(projections, parsed)
    const isApplied = kind === 'applied' && (!isPluginStream(stream) || applyPluginEvent(record))
    if (kind === 'foreign' || kind === 'unreadable') skipForeign(stream)
    else if (!isApplied) counts.skipped += 1
    reportDamage(health.receive(stream, revision, kind))
    // Without its content, the event could not be found again.
    if (kind !== 'unreadable') newest = record
    return isApplied
  }

  async function applyTogether(events: readonly ParsedRecord[], signal: AbortSignal): Promise<void> {
    const isLarge = events.length >= MIN_EVENTS_FOR_OWN_TURN
    if (isLarge) await slice.yieldNow()
    if (signal.aborted) return
    const areApplied = events.map(apply)
    if (isLarge) await slice.yieldNow()
    for (const [index, { record }] of events.entries()) {
      notify(record, areApplied[index] === true)
      if (slice.isDue()) await slice.yieldNow()
    }
    onChange()
  }

  function skipForeign(stream: string): void {
    counts.foreign += 1
    if (foreignStreams.has(stream)) return
    foreignStreams.add(stream)
    logger.warn({ stream }, 'event of another program, or malformed, skipped in a stream of the event log')
  }

  function reportDamage(damaged: DamagedStream | undefined): void {
    if (damaged)
      logger.error(damaged, 'stream of the event log damaged; the requests that depend on it are refused')
  }

  /** Counts and reports an event that is in the state: the count is of those that receivers have. */
  function notify(record: RecordedEvent, isApplied: boolean): void {
    if (record.stream !== LOG_STREAM && record.stream !== CHECKPOINTS_STREAM) counts.received += 1
    for (const receive of receivers) receive(record)
    if (!isApplied || !isLive()) return
    // Never negative, even if the clock of the machine that wrote the event is ahead of this one.
    const delayMs = Math.max(0, Date.now() - Date.parse(record.metadata.time))
    for (const listener of listeners) listener(record, delayMs)
  }

  function hold(parsed: ParsedRecord, signal: AbortSignal): void {
    held.push(parsed)
    clearTimeout(holdTimer)
    holdTimer = setTimeout(() => !signal.aborted && applyHeld(), MAX_HOLD_MS).unref()
  }

  function takeHeld(): readonly ParsedRecord[] {
    const events = held
    held = []
    clearTimeout(holdTimer)
    return events
  }

  /** Applies the events that are held at once, whatever is received meanwhile. */
  function applyHeld(): void {
    for (const parsed of takeHeld()) notify(parsed.record, apply(parsed))
    onChange()
  }

  function mayBeHeld({ record: { stream }, kind }: ParsedRecord): boolean {
    if (kind === 'unreadable' || kind === 'foreign') return false
    // What an event of a router needs is prepared in the state that the events before it have left.
    if (stream === ROUTERS_STREAM) return false
    // Nobody reads before the first catch-up has ended.
    return isLive() && held.length < MAX_HELD_EVENTS
  }

  return {
    counts,
    newest: () => newest,
    receive(record, signal) {
      const parsed = parseRecord(record)
      if (mayBeHeld(parsed) && isContinued(record)) {
        hold(parsed, signal)
        parseData(record)
        return slice.isDue() ? slice.yieldNow() : undefined
      }
      if (held.length > 0) return applyTogether([...takeHeld(), parsed], signal)
      notify(record, apply(parsed))
      onChange()
    },
    flush: (signal) => (held.length > 0 ? applyTogether(takeHeld(), signal) : undefined),
    receiveAnomaly(anomaly) {
      // It is behind them in the log, and no append of ours has it between its events.
      if (held.length > 0) applyHeld()
      if (anomaly.kind === 'foreign') skipForeign(anomaly.stream)
      reportDamage(health.note(anomaly))
      onChange()
    },
    restart: () => void takeHeld(),
    onReceived: (listener) => void receivers.push(listener),
    onApplied: (listener) => void listeners.push(listener),
    onPluginEvent(listener) {
      applyPluginEvent = listener
    },
  }
}
