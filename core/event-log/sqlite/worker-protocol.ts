import type { ExpectedRevision, Position } from '../../contract/event-log.ts'
import type { SetAsideFile } from './damaged-files.ts'

/**
 * Requests from the main thread to a worker thread, `open` first. Events are transferred as JSON text, which
 * the worker never parses. Only the history store receives `read-log`, only the expiring store
 * `delete-stream`.
 */
export type WorkerRequest = OpenRequest | AppendRequest | StoreRequest | CloseRequest

/** Requests that the store handles itself. */
export type StoreRequest = ReadStreamRequest | ReadLogRequest | DeleteStreamRequest

export interface OpenRequest {
  readonly type: 'open'
  readonly file: string
  /** Milliseconds. */
  readonly busyTimeout: number
  /** Maximum size of the file, in pages of 4 KiB. */
  readonly maxPages: number | undefined
  /** Streams that `read-log` leaves out unless it names streams; for the history store only. */
  readonly unfollowedStreams?: readonly string[]
  /** Types of events that may use the space of the reserve file; for the history store only. */
  readonly reservedTypes?: readonly string[]
  /** What `read-log` does with the events; for the history store only. */
  readonly pages?: PageOptions
  /** Id of the log that the file must belong to; for the expiring store only. */
  readonly logId?: string | undefined
  /** Whether a damaged file is replaced by an empty one; for the expiring store only. */
  readonly setsAside?: boolean
}

/** What is done with the events of a page of the log. */
export interface PageOptions {
  /** Whether their data and metadata are checked to be valid JSON, for a reader that may not parse them. */
  readonly validatesJson: boolean
  readonly hashesLeaves: boolean
}

export interface AppendRequest {
  readonly type: 'append'
  readonly stream: string
  readonly expectedRevision: ExpectedRevision
  readonly events: readonly (readonly [type: string, data: string])[]
  readonly metadata: string
  /** Seconds; set for the expiring store only. */
  readonly maxAge: number | undefined
}

/** Reads the events of one stream, starting with a revision. */
export interface ReadStreamRequest {
  readonly type: 'read-stream'
  readonly stream: string
  readonly from: number
}

/** Reads the events after a position, of followed streams or of those whose names begin with `streams`. */
export interface ReadLogRequest {
  readonly type: 'read-log'
  readonly after: Position
  readonly streams: string | undefined
}

interface DeleteStreamRequest {
  readonly type: 'delete-stream'
  readonly stream: string
}

/** Commits all earlier appends, then closes the file. */
interface CloseRequest {
  readonly type: 'close'
}

/** The response to each type of request that succeeds. */
export interface ResponsesByType {
  open: DoneResponse
  append: AppendedResponse | WrongRevisionResponse
  'read-stream': EventPage
  'read-log': PackedPage
  'delete-stream': DoneResponse
  close: DoneResponse
}

interface DoneResponse {
  readonly type: 'done'
}

export interface AppendedResponse {
  readonly type: 'appended'
  readonly revision: number
  readonly position: Position
}

export interface WrongRevisionResponse {
  readonly type: 'wrong-revision'
  readonly actual: number
}

/** As many rows as fit into one page. If `more` is true, the next page may contain rows. */
export interface EventPage {
  readonly type: 'page'
  readonly rows: readonly EventRow[]
  readonly more: boolean
}

/** Events of the log as bytes, which `unpackEvents` reads. */
export interface PackedPage {
  readonly type: 'packed-page'
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

/** `code` is SQLite's, such as `SQLITE_FULL`, or `FILE_REPLACED`; undefined for any other error. */
export interface FailedResponse {
  readonly type: 'failed'
  readonly message: string
  readonly code: string | undefined
}

export type WorkerResponse = ResponsesByType[WorkerRequest['type']] | FailedResponse

export interface PendingRequest {
  readonly id: number
  readonly request: WorkerRequest
}

export interface RequestResult {
  readonly id: number
  readonly response: WorkerResponse
}

/**
 * Appends are by far the most frequent requests, so they are encoded as arrays: structured cloning of an
 * object would serialize its property names with every message. In `events`, types and data alternate.
 */
export type EncodedRequest = PendingRequest | EncodedAppend

type EncodedAppend = readonly [
  id: number,
  stream: string,
  expected: ExpectedRevision,
  metadata: string,
  maxAge: number | undefined,
  ...events: string[],
]

/** Results of successful appends are encoded as arrays for the same reason. */
type EncodedResult = RequestResult | EncodedAppended

type EncodedAppended = readonly [id: number, revision: number, position: Position]

/**
 * All requests of one turn of the event loop share a message, and so do the results of one commit, because a
 * message costs more than its content. `watch` reports commits of other processes until `unwatch`.
 */
export type WorkerInput = readonly EncodedRequest[] | 'watch' | 'unwatch'

/** `changed`: another process has committed. A `SetAsideFile` was damaged. */
export type WorkerOutput = readonly EncodedResult[] | 'changed' | SetAsideFile

export function encodeRequest(pending: PendingRequest): EncodedRequest {
  const { id, request } = pending
  if (request.type !== 'append') return pending
  const { stream, expectedRevision, metadata, maxAge, events } = request
  return [id, stream, expectedRevision, metadata, maxAge, ...events.flat()]
}

export function decodeRequest(encoded: EncodedRequest): PendingRequest {
  if (!isEncoded(encoded)) return encoded
  const [id, stream, expectedRevision, metadata, maxAge, ...texts] = encoded
  const events: [type: string, data: string][] = []
  for (let index = 0; index < texts.length; index += 2)
    events.push([texts[index] ?? '', texts[index + 1] ?? ''])
  return { id, request: { type: 'append', stream, expectedRevision, events, metadata, maxAge } }
}

export function encodeResult(result: RequestResult): EncodedResult {
  const { id, response } = result
  return response.type === 'appended' ? [id, response.revision, response.position] : result
}

export function decodeResult(encoded: EncodedResult): RequestResult {
  if (!isEncoded(encoded)) return encoded
  const [id, revision, position] = encoded
  return { id, response: { type: 'appended', revision, position } }
}

/** `Array.isArray` alone does not narrow readonly arrays. */
function isEncoded<Encoded extends EncodedRequest | EncodedResult>(
  encoded: Encoded,
): encoded is Exclude<Encoded, PendingRequest | RequestResult> {
  return Array.isArray(encoded)
}
