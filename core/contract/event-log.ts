import type { JsonObject } from './json.ts'
import { SignalboxError } from './signalbox-error.ts'

/** Position of an event in the log: a positive, increasing integer with gaps. 0 is before the first event. */
export type Position = number

/**
 * Who made a change: an operator, the holder of a user's key or of the admin key, a command, the gateway. See
 * docs/decisions/operators.md, "An actor is recorded with the name that it had".
 */
export interface Actor {
  readonly type: 'operator' | 'key' | 'identity' | 'root' | 'cli' | 'system'
  /** Id of the operator or key, `issuer#subject` of a token; for all others, the type. */
  readonly id: string
  /** Name of the operator, or of the user of the key, when the change was made. */
  readonly name: string
  /** Of a subject of an identity provider: the `iss` of its tokens. */
  readonly issuer?: string
}

/** The author of a change, and the request that caused it, if any. */
export interface Author {
  readonly actor: Actor
  readonly requestId?: string
  /** Why the change is made, in the words of the actor. */
  readonly reason?: string
  /** Set if the request has an `Idempotency-Key` and its endpoint honours it. */
  readonly idempotency?: Idempotency
}

/** Identifies a request that a client may repeat. Both values are SHA-256 in hex. */
export interface Idempotency {
  /** Hash of the caller and the `Idempotency-Key`. */
  readonly key: string
  /** Hash of the request itself. */
  readonly request: string
}

/** Metadata stored with an event. */
export interface EventMetadata {
  /** Who made the change. */
  readonly actor: Actor
  /** The request that caused the event, if any. */
  readonly requestId?: string
  /** Why the change was made, in the words of the actor. */
  readonly reason?: string
  /** Set if the request had an `Idempotency-Key`. */
  readonly idempotency?: Idempotency
  /** ISO 8601 UTC with six decimals. */
  readonly time: string
  /** Schema version of `data`, for upcasts. */
  readonly schema: number
  /** Revision of the last event of the append, if it has several. */
  readonly lastRevision?: number
}

export interface NewEvent {
  readonly type: string
  readonly data: JsonObject
}

/** A stored event. `revision` counts the events of its stream from 0. */
export interface RecordedEvent extends NewEvent {
  readonly stream: string
  readonly revision: number
  readonly position: Position
  readonly metadata: EventMetadata
}

/** Revision of the stream's last event; -1 if the stream must not exist yet; `any` to skip the check. */
export type ExpectedRevision = number | 'any'

export interface AppendOptions {
  readonly expectedRevision: ExpectedRevision
  readonly metadata: EventMetadata
}

/** Revision and position of the last event written by an append. */
export interface Appended {
  readonly revision: number
  readonly position: Position
}

/**
 * A durable log of events in streams, with one total order. Events are permanent. Stream names are
 * `category-id`.
 */
export interface EventLog {
  /**
   * Writes all events or none, and resolves when they are on disk. Rejects with `WrongExpectedRevisionError`
   * if the stream is not at `options.expectedRevision`, with `AppendTooLargeError` if the events are larger
   * than `MAX_APPEND_BYTES`, with `StreamDamagedError` if the stream was deleted, and with
   * `EventLogUnavailableError` if the events could not be written or the outcome is unknown.
   */
  append(stream: string, events: readonly NewEvent[], options: AppendOptions): Promise<Appended>
  /**
   * Yields the events of one stream in order, starting at revision `from`. Yields nothing if the stream does
   * not exist.
   */
  read(stream: string, from?: number): AsyncIterable<RecordedEvent>
  /**
   * Yields every event after position `from` in log order: stored events first, then `caught-up` once, then
   * new events of all processes. Ends when the signal aborts. `streams` is a stream name prefix (a category
   * with its `-`) that filters the events; by default, the streams that nobody follows are left out, and the
   * empty prefix includes them. `onAnomaly` receives, in log order, what is not an event of
   * Signalbox.
   */
  subscribe(
    from: Position,
    signal: AbortSignal,
    streams?: string,
    onAnomaly?: (anomaly: StreamAnomaly) => void,
  ): AsyncIterable<RecordedEvent | 'caught-up'>
  /** Makes subscriptions read events of other processes now, instead of at their next poll. */
  poll?(): void
  /** Waits for appends in flight, then closes the store. */
  close(): Promise<void>
}

/** Another writer changed the stream first. `actual` is its revision, -1 when the stream does not exist. */
export class WrongExpectedRevisionError extends SignalboxError {
  static override readonly brand = 'signalbox.WrongExpectedRevisionError'

  readonly stream: string
  readonly expected: number
  readonly actual: number

  constructor(stream: string, expected: number, actual: number) {
    super(`stream ${stream} is at revision ${actual}, expected ${expected}`)
    this.stream = stream
    this.expected = expected
    this.actual = actual
  }
}

/**
 * Something that other programs or operators did to a stream: an event of another program or without valid
 * metadata (`foreign`), a deletion that cannot be undone (`deleted`), or stream metadata that hides events
 * (`truncated`) or no longer does (`restored`).
 */
export interface StreamAnomaly {
  readonly kind: 'foreign' | 'deleted' | 'truncated' | 'restored'
  readonly stream: string
  /** Revision of a foreign event; -1 for all others. */
  readonly revision: number
}

/** A stream cannot be written or read completely, while the event log as such is available. */
export class StreamDamagedError extends SignalboxError {
  static override readonly brand = 'signalbox.StreamDamagedError'

  readonly stream: string

  /** `damage` completes the sentence "stream … of the event log …". */
  constructor(stream: string, damage: string, options?: ErrorOptions) {
    super(`stream ${stream} of the event log ${damage}`, options)
    this.stream = stream
  }
}

/** Maximum size of the events of one append: their types, data and metadata as JSON. */
export const MAX_APPEND_BYTES = 1_000_000

/** The events of an append are larger than a log accepts. Nothing was written. */
export class AppendTooLargeError extends SignalboxError {
  static override readonly brand = 'signalbox.AppendTooLargeError'

  readonly bytes: number
  readonly limit: number

  constructor(stream: string, bytes: number, limit = MAX_APPEND_BYTES) {
    super(`an append to ${stream} has ${bytes} bytes, more than the limit of ${limit}`)
    this.bytes = bytes
    this.limit = limit
  }
}

/**
 * The event log could not read or write. `diskFull`: its disk has no space left. `damaged`: its file is.
 * `accessDenied`: its server rejects the credentials, or the user lacks a permission. `outcomeUnknown`: the
 * response to an append was lost, so its events may or may not be stored; otherwise they are not.
 * `transient`: a retry may succeed.
 */
export class EventLogUnavailableError extends SignalboxError {
  static override readonly brand = 'signalbox.EventLogUnavailableError'

  readonly accessDenied: boolean
  readonly damaged: boolean
  readonly diskFull: boolean
  readonly outcomeUnknown: boolean
  readonly transient: boolean

  constructor(message: string, options: EventLogUnavailableOptions = {}) {
    super(message, { cause: options.cause })
    this.accessDenied = options.accessDenied ?? false
    this.damaged = options.damaged ?? false
    this.diskFull = options.diskFull ?? false
    this.outcomeUnknown = options.outcomeUnknown ?? false
    this.transient = options.transient ?? false
  }
}

interface EventLogUnavailableOptions {
  readonly cause?: unknown
  readonly accessDenied?: boolean
  readonly damaged?: boolean
  readonly diskFull?: boolean
  readonly outcomeUnknown?: boolean
  readonly transient?: boolean
}

/**
 * The event log is not the one that this process has read: it was wiped, restored from an older copy, or
 * exchanged for another one. The process must end, because its state is that of another log.
 */
export class EventLogReplacedError extends SignalboxError {
  static override readonly brand = 'signalbox.EventLogReplacedError'

  /** Completes the sentence "The event log was replaced while the gateway ran: …". */
  readonly found: string

  constructor(found: string) {
    super(
      `The event log was replaced while the gateway ran: ${found}. Nothing is served from it. ` +
        'Start the gateway again to serve what the event log now holds, or restore the event log first.',
    )
    this.found = found
  }
}

/** Converts an event of one schema version to the next version. Both `type` and `data` may change. */
export type Upcast = (event: NewEvent) => NewEvent

/** Upcasts by the schema version of the event, then by event type. Types not listed did not change. */
export type Upcasts = Readonly<Record<number, Readonly<Record<string, Upcast>>>>
