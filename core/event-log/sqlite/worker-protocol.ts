import type { Appended, ExpectedRevision, Position, RecordedEvent } from '../../contract/event-log.ts'
import { isJsonObject } from '../../contract/json.ts'
import { isEventMetadata } from '../actor.ts'

/**
 * Methods of the worker thread, `open` first. Events are transferred as JSON text, which the worker never
 * parses.
 */
export type SqliteMethods = {
  open: { params: OpenRequest; result: undefined }
  append: { params: AppendRequest; result: AppendResult }
  readStream: { params: ReadStreamRequest; result: EventPage }
  readLog: { params: ReadLogRequest; result: PackedPage }
  /** Reports commits of other processes with `changed`, until `unwatch`. */
  watch: { params: undefined; result: undefined }
  unwatch: { params: undefined; result: undefined }
  /** Commits all earlier appends, then closes the file. */
  close: { params: undefined; result: undefined }
}

/** Methods of the thread that has started a worker. */
export type SqliteOwnerMethods = {
  /** Another process has committed. */
  changed: { params: undefined; result: undefined }
}

export interface OpenRequest {
  readonly file: string
  /** Milliseconds. */
  readonly busyTimeout: number
  /** Maximum size of the file, in pages of 4 KiB. */
  readonly maxPages: number | undefined
  /** Streams that `readLog` leaves out unless it names streams. */
  readonly unfollowedStreams?: readonly string[]
  /** Types of events that may use the space of the reserve file. */
  readonly reservedTypes?: readonly string[]
  /** Whether `readLog` returns the hashes of the leaves of events, too. */
  readonly hashesLeaves?: boolean
}

export interface AppendRequest {
  readonly stream: string
  readonly expectedRevision: ExpectedRevision
  readonly events: readonly (readonly [type: string, data: string])[]
  readonly metadata: string
}

/** Reads the events of one stream, starting with a revision. */
export interface ReadStreamRequest {
  readonly stream: string
  readonly from: number
}

/** Reads the events after a position, of followed streams or of those whose names begin with `streams`. */
export interface ReadLogRequest {
  readonly after: Position
  readonly streams: string | undefined
}

/** `actual` is the revision of a stream that is not at the expected one. */
export type AppendResult = Appended | { readonly actual: number }

/** As many rows as fit into one page. If `more` is true, the next page may contain rows. */
export interface EventPage {
  readonly rows: readonly EventRow[]
  readonly more: boolean
}

/** Events of the log as bytes, which `unpackEvents` reads. */
export interface PackedPage {
  readonly events: Uint8Array
  /** The position of the last event; where the page begins if there is none. */
  readonly last: Position
  readonly more: boolean
  /** The hash of the leaf of each event, as it is stored. */
  readonly leafHashes?: Uint8Array
}

export type EventRow = readonly [
  position: Position,
  stream: string,
  revision: number,
  type: string,
  data: string,
  metadata: string,
]

/** Returns undefined for what Signalbox did not write. */
export function parseEventRow(row: EventRow): RecordedEvent | undefined {
  const [position, stream, revision, type, dataText, metadataText] = row
  try {
    const [data, metadata]: unknown[] = [JSON.parse(dataText), JSON.parse(metadataText)]
    if (!isJsonObject(data) || !isEventMetadata(metadata)) return undefined
    return { position, stream, revision, type, data, metadata }
  } catch {
    return undefined
  }
}
