import type { ExpectedRevision, Position } from '../../contract/event-log.ts'

/**
 * What the log asks of a worker thread, `open` first. Events travel as JSON text: the worker never parses them. Only the
 * history is asked for `read-log`, and only the expiring store to `remove`.
 */
export type WorkerRequest = OpenRequest | AppendRequest | StoreRequest | CloseRequest

/** What the store itself answers. */
export type StoreRequest = ReadStreamRequest | ReadLogRequest | DeleteStreamRequest

export interface OpenRequest {
  readonly type: 'open'
  readonly file: string
  readonly busyTimeout: number
  readonly maxPages: number | undefined
}

export interface AppendRequest {
  readonly type: 'append'
  readonly stream: string
  readonly expectedRevision: ExpectedRevision
  readonly events: readonly (readonly [type: string, data: string])[]
  readonly metadata: string
  /** Seconds; only on the expiring store. */
  readonly maxAge: number | undefined
}

/** The events of one stream from a revision on. */
export interface ReadStreamRequest {
  readonly type: 'read-stream'
  readonly stream: string
  readonly from: number
}

/** The events after a position, of all streams or of those whose names begin with `streams`. */
export interface ReadLogRequest {
  readonly type: 'read-log'
  readonly after: Position
  readonly streams: string | undefined
}

interface DeleteStreamRequest {
  readonly type: 'remove'
  readonly stream: string
}

/** Commits the appends that came before it, then lets go of the file. */
interface CloseRequest {
  readonly type: 'close'
}

/** The answer that each kind of ask gets when it does not fail. */
export interface ResponsesByType {
  open: DoneResponse
  append: AppendedResponse | WrongRevisionResponse
  'read-stream': EventPage
  'read-log': EventPage
  remove: DoneResponse
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

/** As many rows as fit in one page; `more` when the next page may not be empty. */
export interface EventPage {
  readonly type: 'page'
  readonly rows: readonly EventRow[]
  readonly more: boolean
}

export type EventRow = readonly [
  position: Position,
  stream: string,
  revision: number,
  type: string,
  data: string,
  metadata: string,
]

/** `code` is SQLite's, such as `SQLITE_FULL`, where it was SQLite that failed. */
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
 * Appends, which come by the thousand, cross between threads as lists: of an object every name would be written and read again. Types and data
 * of the events come by turns.
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

/** So does what became of them, when they were written. */
type EncodedResult = RequestResult | EncodedAppended

type EncodedAppended = readonly [id: number, revision: number, position: Position]

/**
 * What is asked in one turn of the event loop travels together, and so does what became of one commit: a message costs more than what is
 * in it. `watch`: look out for commits of other processes, until `unwatch`.
 */
export type WorkerInput = readonly EncodedRequest[] | 'watch' | 'unwatch'

/** `changed`: another process has committed. */
export type WorkerOutput = readonly EncodedResult[] | 'changed'

export function encodeRequest(asked: PendingRequest): EncodedRequest {
  const { id, request: ask } = asked
  if (ask.type !== 'append') return asked
  return [id, ask.stream, ask.expectedRevision, ask.metadata, ask.maxAge, ...ask.events.flat()]
}

export function decodeRequest(packed: EncodedRequest): PendingRequest {
  if (!isList(packed)) return packed
  const [id, stream, expectedRevision, metadata, maxAge, ...texts] = packed
  const events: [type: string, data: string][] = []
  for (let at = 0; at < texts.length; at += 2) events.push([texts[at] ?? '', texts[at + 1] ?? ''])
  return { id, request: { type: 'append', stream, expectedRevision, events, metadata, maxAge } }
}

export function encodeResult(reply: RequestResult): EncodedResult {
  const { id, response: answer } = reply
  return answer.type === 'appended' ? [id, answer.revision, answer.position] : reply
}

export function decodeResult(packed: EncodedResult): RequestResult {
  if (!isList(packed)) return packed
  const [id, revision, position] = packed
  return { id, response: { type: 'appended', revision, position } }
}

/** `Array.isArray` does not tell lists that may not be changed. */
function isList<Packed extends EncodedRequest | EncodedResult>(
  packed: Packed,
): packed is Exclude<Packed, PendingRequest | RequestResult> {
  return Array.isArray(packed)
}
