import type { ExpectedRevision, Position } from '../../contract/event-log.ts'

/**
 * What the log asks of a worker thread, `open` first. Events travel as JSON text: the worker never parses them. Only the
 * history is asked for `read-log`, and only the expiring store to `remove`.
 */
export type Ask = OpenAsk | AppendAsk | StoreAsk | CloseAsk

/** What the store itself answers. */
export type StoreAsk = ReadStreamAsk | ReadLogAsk | RemoveAsk

export interface OpenAsk {
  readonly type: 'open'
  readonly file: string
  readonly busyTimeout: number
  readonly maxPages: number | undefined
}

export interface AppendAsk {
  readonly type: 'append'
  readonly stream: string
  readonly expectedRevision: ExpectedRevision
  readonly events: readonly (readonly [type: string, data: string])[]
  readonly metadata: string
  /** Seconds; only on the expiring store. */
  readonly maxAge: number | undefined
}

/** The events of one stream from a revision on. */
export interface ReadStreamAsk {
  readonly type: 'read-stream'
  readonly stream: string
  readonly from: number
}

/** The events after a position, of all streams or of those whose names begin with `streams`. */
export interface ReadLogAsk {
  readonly type: 'read-log'
  readonly after: Position
  readonly streams: string | undefined
}

interface RemoveAsk {
  readonly type: 'remove'
  readonly stream: string
}

/** Commits the appends that came before it, then lets go of the file. */
interface CloseAsk {
  readonly type: 'close'
}

/** The answer that each kind of ask gets when it does not fail. */
export interface Answers {
  open: Done
  append: AppendedAnswer | WrongRevisionAnswer
  'read-stream': Page
  'read-log': Page
  remove: Done
  close: Done
}

interface Done {
  readonly type: 'done'
}

export interface AppendedAnswer {
  readonly type: 'appended'
  readonly revision: number
  readonly position: Position
}

export interface WrongRevisionAnswer {
  readonly type: 'wrong-revision'
  readonly actual: number
}

/** As many rows as fit in one page; `more` when the next page may not be empty. */
export interface Page {
  readonly type: 'page'
  readonly rows: readonly Row[]
  readonly more: boolean
}

export type Row = readonly [
  position: Position,
  stream: string,
  revision: number,
  type: string,
  data: string,
  metadata: string,
]

/** `code` is SQLite's, such as `SQLITE_FULL`, where it was SQLite that failed. */
export interface Failure {
  readonly type: 'failed'
  readonly message: string
  readonly code: string | undefined
}

export type Answer = Answers[Ask['type']] | Failure

export interface Asked {
  readonly id: number
  readonly ask: Ask
}

export interface Reply {
  readonly id: number
  readonly answer: Answer
}

/**
 * Appends, which come by the thousand, cross between threads as lists: of an object every name would be written and read again. Types and data
 * of the events come by turns.
 */
export type PackedAsk = Asked | PackedAppend

type PackedAppend = readonly [
  id: number,
  stream: string,
  expected: ExpectedRevision,
  metadata: string,
  maxAge: number | undefined,
  ...events: string[],
]

/** So does what became of them, when they were written. */
type PackedReply = Reply | PackedAppended

type PackedAppended = readonly [id: number, revision: number, position: Position]

/**
 * What is asked in one turn of the event loop travels together, and so does what became of one commit: a message costs more than what is
 * in it. `watch`: look out for commits of other processes, until `unwatch`.
 */
export type ToWorker = readonly PackedAsk[] | 'watch' | 'unwatch'

/** `changed`: another process has committed. */
export type FromWorker = readonly PackedReply[] | 'changed'

export function packAsk(asked: Asked): PackedAsk {
  const { id, ask } = asked
  if (ask.type !== 'append') return asked
  return [id, ask.stream, ask.expectedRevision, ask.metadata, ask.maxAge, ...ask.events.flat()]
}

export function unpackAsk(packed: PackedAsk): Asked {
  if (!isList(packed)) return packed
  const [id, stream, expectedRevision, metadata, maxAge, ...texts] = packed
  const events: [type: string, data: string][] = []
  for (let at = 0; at < texts.length; at += 2) events.push([texts[at] ?? '', texts[at + 1] ?? ''])
  return { id, ask: { type: 'append', stream, expectedRevision, events, metadata, maxAge } }
}

export function packReply(reply: Reply): PackedReply {
  const { id, answer } = reply
  return answer.type === 'appended' ? [id, answer.revision, answer.position] : reply
}

export function unpackReply(packed: PackedReply): Reply {
  if (!isList(packed)) return packed
  const [id, revision, position] = packed
  return { id, answer: { type: 'appended', revision, position } }
}

/** `Array.isArray` does not tell lists that may not be changed. */
function isList<Packed extends PackedAsk | PackedReply>(
  packed: Packed,
): packed is Exclude<Packed, Asked | Reply> {
  return Array.isArray(packed)
}
