import type { JsonObject } from './json.ts'

/** Place of an event in the whole log: a positive integer that only grows, with gaps allowed. 0 is before the first event. */
export type Position = number

/** What is known about an event besides its content. */
export interface EventMetadata {
  /** Who caused it: a key id, `admin`, `cli` or `system`. */
  readonly actor: string
  /** The request that caused it, where there was one. */
  readonly requestId?: string
  /** ISO 8601 UTC with six decimals. */
  readonly time: string
  /** Version of the event's shape, for upcasts. */
  readonly schema: number
}

export interface NewEvent {
  readonly type: string
  readonly data: JsonObject
}

/** An event as the log holds it. `revision` counts from 0 within its stream. */
export interface RecordedEvent extends NewEvent {
  readonly stream: string
  readonly revision: number
  readonly position: Position
  readonly metadata: EventMetadata
}

/** The revision of the stream's last event; -1 for a stream that must not exist yet; `any` for no check. */
export type ExpectedRevision = number | 'any'

export interface AppendOptions {
  readonly expectedRevision: ExpectedRevision
  readonly metadata: EventMetadata
  /** Whole seconds until the events are gone for good: on expiring streams, and only there. */
  readonly maxAge?: number
}

/** `revision` and `position` of the last event that the append wrote. */
export interface Appended {
  readonly revision: number
  readonly position: Position
}

/**
 * Events in streams, durable and in one order. Stream names are `category-id`. Streams of the category `response` expire: they
 * are kept apart from all others, no follower sees them, and their positions are no place to follow from.
 */
export interface EventLog {
  /**
   * Writes all events or none, and resolves when they are on disk.
   * Rejects with `WrongRevision` when the stream is not at `expected`, with `LogUnavailable` when nothing could be written,
   * or when that is not known: see `maybeWritten`.
   */
  append(stream: string, events: readonly NewEvent[], options: AppendOptions): Promise<Appended>
  /** The events of one stream in order, from a revision on; nothing for a stream that does not exist. */
  read(stream: string, from?: number): AsyncIterable<RecordedEvent>
  /**
   * Every event after `from`, in log order: first those already there, then `caught-up` once, then each new one,
   * whichever process wrote it. Ends when the signal aborts. `streams`, a category
   * with its `-`, leaves out all others.
   */
  subscribe(from: Position, signal: AbortSignal, streams?: string): AsyncIterable<RecordedEvent | 'caught-up'>
  /** Lets followers look now for what other processes have written, for those who know that there is something. */
  poll?(): void
  /** Takes an expiring stream away for good; its name is not used again. Nothing happens when there is none. */
  deleteStream(stream: string): Promise<void>
  /** Waits for appends under way, then lets go of the store. */
  close(): Promise<void>
}

const WRONG_EXPECTED_REVISION_ERROR = Symbol.for('signalbox.WrongExpectedRevisionError')

/** Another writer changed the stream first. `actual` is its revision, -1 when the stream does not exist. */
export class WrongExpectedRevisionError extends Error {
  static {
    Object.defineProperty(WrongExpectedRevisionError.prototype, WRONG_EXPECTED_REVISION_ERROR, {
      value: true,
    })
  }

  /** Also true for errors of another copy of Signalbox in this process. */
  static isInstance(error: unknown): error is WrongExpectedRevisionError {
    return error instanceof Error && WRONG_EXPECTED_REVISION_ERROR in error
  }

  readonly stream: string
  readonly expected: number
  readonly actual: number

  constructor(stream: string, expected: number, actual: number) {
    super(`stream ${stream} is at revision ${actual}, not at ${expected}`)
    this.name = 'WrongExpectedRevisionError'
    this.stream = stream
    this.expected = expected
    this.actual = actual
  }
}

const EVENT_LOG_UNAVAILABLE_ERROR = Symbol.for('signalbox.EventLogUnavailableError')

/**
 * The event log could not read or write. `diskFull`: its disk has no space left. `outcomeUnknown`: the response to
 * an append was lost, so its events may or may not be stored; otherwise they are not. `transient`: a retry may
 * succeed.
 */
export class EventLogUnavailableError extends Error {
  static {
    Object.defineProperty(EventLogUnavailableError.prototype, EVENT_LOG_UNAVAILABLE_ERROR, { value: true })
  }

  /** Also true for errors of another copy of Signalbox in this process. */
  static isInstance(error: unknown): error is EventLogUnavailableError {
    return error instanceof Error && EVENT_LOG_UNAVAILABLE_ERROR in error
  }

  readonly diskFull: boolean
  readonly outcomeUnknown: boolean
  readonly transient: boolean

  constructor(message: string, options: EventLogUnavailableOptions = {}) {
    super(message, { cause: options.cause })
    this.name = 'EventLogUnavailableError'
    this.diskFull = options.diskFull ?? false
    this.outcomeUnknown = options.outcomeUnknown ?? false
    this.transient = options.transient ?? false
  }
}

interface EventLogUnavailableOptions {
  readonly cause?: unknown
  readonly diskFull?: boolean
  readonly outcomeUnknown?: boolean
  readonly transient?: boolean
}

/** Reads an event of one schema version as the version after it would have written it: type and data may both differ. */
export type Upcast = (event: NewEvent) => NewEvent

/** By the schema version that wrote the event, then by its type. What is not here has not changed from that version to the next. */
export type Upcasts = Readonly<Record<number, Readonly<Record<string, Upcast>>>>
