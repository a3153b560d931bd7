import { createHash } from 'node:crypto'
import { open } from 'node:fs/promises'
import type { Logger } from 'pino'
import { type EventLog, EventLogUnavailableError } from '../../core/contract/index.ts'
import { createProjections, listSaved, type Projections } from '../projections.ts'
import { type EventReference, findEvent } from '../runtime/check-log.ts'
import { listSnapshots, type Snapshot, type SnapshotHeader } from './files.ts'

interface Restored {
  readonly projections: Projections
  /** The newest event of the state; undefined for the state before the first event. */
  readonly newest: EventReference | undefined
}

/**
 * Restores the state of the newest valid snapshot, or the state before the first event if there is none. A
 * snapshot is valid if it is complete, was written by this version's code and belongs to this log. Invalid
 * snapshots are logged and skipped as a whole. Rejects with `EventLogUnavailableError`. See
 * docs/decisions/event-log.md, "A node does not start from a snapshot alone".
 */
export async function restoreProjections(
  folder: string,
  log: Pick<EventLog, 'read'>,
  logId: string,
  logger: Logger,
): Promise<Restored> {
  for (const { path, isCurrent } of await listSnapshots(folder)) {
    try {
      if (!isCurrent) throw new Error('it was written by another version of Signalbox')
      const snapshot = await readSnapshot(path)
      await checkBelongsToLog(log, logId, snapshot.header)
      return { projections: loadProjections(snapshot), newest: snapshot.header }
    } catch (error) {
      if (EventLogUnavailableError.isInstance(error)) throw error
      logger.warn(
        { snapshot: path, err: error },
        'snapshot skipped; falling back to an older one or the event log',
      )
    }
  }
  return { projections: createProjections(), newest: undefined }
}

/**
 * Throws unless the log has the snapshot's id and contains its newest event in the same place. See
 * docs/decisions/event-log.md, "A snapshot is trusted only if the log still has its newest event".
 */
async function checkBelongsToLog(
  log: Pick<EventLog, 'read'>,
  logId: string,
  header: SnapshotHeader,
): Promise<void> {
  if (header.log !== logId) throw new Error(`it belongs to event log ${header.log}, not to ${logId}`)
  if ((await findEvent(log, header)) === 'same') return
  throw new Error(`event log ${logId} does not contain its newest event: the log is an older copy`)
}

function loadProjections({ parts }: SavedSnapshot): Projections {
  const projections = createProjections()
  for (const projection of listSaved(projections)) {
    const part = parts.find(({ name }) => name === projection.name)
    if (part === undefined) throw new Error(`it has no part ${projection.name}`)
    projection.load(part.lines)
  }
  return projections
}

/** A snapshot that was read from a file. */
interface SavedSnapshot extends Snapshot {
  readonly parts: readonly { readonly name: string; readonly lines: Iterable<Buffer> }[]
}

/** 64 hex digits and a newline. */
const HASH_BYTES = 65

/** Reads a snapshot. Throws if its content does not match its hash. */
export async function readSnapshot(path: string): Promise<SavedSnapshot> {
  const bytes = await readFileInChunks(path)
  const content = bytes.subarray(0, Math.max(0, bytes.length - HASH_BYTES))
  const hash = bytes.subarray(content.length).toString('latin1').trimEnd()
  if (createHash('sha256').update(content).digest('hex') !== hash)
    throw new Error('its content does not match its hash')
  const header: SnapshotHeader = JSON.parse(content.toString('utf8', 0, content.indexOf('\n')))
  return { header, parts: splitParts(content) }
}

const READ_CHUNK_BYTES = 64 * 1024 * 1024

/** Reads a file of any size; `readFile` is limited to 2 GiB. */
async function readFileInChunks(path: string): Promise<Buffer> {
  const file = await open(path)
  try {
    const { size } = await file.stat()
    const bytes = Buffer.allocUnsafeSlow(size)
    for (let offset = 0; offset < size; ) {
      const length = Math.min(size - offset, READ_CHUNK_BYTES)
      const { bytesRead } = await file.read(bytes, offset, length)
      if (bytesRead === 0) throw new Error('it was truncated while it was read')
      offset += bytesRead
    }
    return bytes
  } finally {
    await file.close()
  }
}

function splitParts(content: Buffer): SavedSnapshot['parts'] {
  const parts = []
  for (let start = content.indexOf('\n#'); start !== -1; ) {
    const lines = content.indexOf('\n', start + 1) + 1
    const end = content.indexOf('\n#', lines - 1)
    const name = content.toString('utf8', start + 2, lines - 1)
    parts.push({ name, lines: splitLines(content.subarray(lines, end === -1 ? content.length : end + 1)) })
    start = end
  }
  return parts
}

function* splitLines(text: Buffer): Generator<Buffer> {
  let start = 0
  for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', start)) {
    yield text.subarray(start, end)
    start = end + 1
  }
}
