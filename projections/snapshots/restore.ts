import { createHash } from 'node:crypto'
import { open } from 'node:fs/promises'
import type { Logger } from 'pino'
import { type EventLog, EventLogUnavailableError, type Position } from '../../core/contract/index.ts'
import { createProjections, listProjections, type Projections } from '../projections.ts'
import { listSnapshots } from './folder.ts'
import { hashEvent, type Snapshot, type SnapshotHeader } from './format.ts'

interface Restored {
  readonly projections: Projections
  /** The position that the state stands at: the log is followed from there. */
  readonly position: Position
}

/**
 * The state in the newest snapshot that is whole, of this code and of this log; without one, the state before the first event.
 * One that cannot be used is never trusted in part: it is logged, and the one before it is tried.
 */
export async function restoreProjections(folder: string, log: EventLog, logger: Logger): Promise<Restored> {
  for (const { path, isCurrent } of await listSnapshots(folder)) {
    try {
      if (!isCurrent) throw new Error('another version of the program wrote it')
      const snapshot = await readSnapshot(path)
      await checkLog(log, snapshot.header)
      return { projections: loadProjections(snapshot), position: snapshot.header.position }
    } catch (error) {
      if (EventLogUnavailableError.isInstance(error)) throw error
      logger.warn({ snapshot: path, err: error }, 'a snapshot is not used; the log is read instead')
    }
  }
  return { projections: createProjections(), position: 0 }
}

/** Throws unless the newest event in the snapshot is in the log, at the same place. */
async function checkLog(log: EventLog, header: SnapshotHeader): Promise<void> {
  for await (const record of log.read(header.stream, header.revision)) {
    // Some servers do not tell the position when a single stream is read.
    const isInPlace = record.position === header.position || record.position === 0
    if (isInPlace && record.revision === header.revision && hashEvent(record) === header.event) return
    break
  }
  throw new Error('it belongs to another event log')
}

function loadProjections({ parts }: SavedSnapshot): Projections {
  const projections = createProjections()
  for (const projection of listProjections(projections)) {
    const part = parts.find(({ name }) => name === projection.name)
    if (part === undefined) throw new Error(`it has no part ${projection.name}`)
    projection.load(part.lines)
  }
  return projections
}

/** A snapshot as it stands in a file. */
interface SavedSnapshot extends Snapshot {
  readonly parts: readonly { readonly name: string; readonly lines: Iterable<Buffer> }[]
}

const HASH_BYTES = 65

/** Reads a snapshot; throws when it is not as it was written. */
export async function readSnapshot(path: string): Promise<SavedSnapshot> {
  const bytes = await readWhole(path)
  const content = bytes.subarray(0, Math.max(0, bytes.length - HASH_BYTES))
  const hash = bytes.subarray(content.length).toString('latin1').trimEnd()
  if (createHash('sha256').update(content).digest('hex') !== hash)
    throw new Error('its content does not match its hash')
  const header: SnapshotHeader = JSON.parse(content.toString('utf8', 0, content.indexOf('\n')))
  return { header, parts: findParts(content) }
}

/** `readFile` takes 2 GiB at most. */
async function readWhole(path: string): Promise<Buffer> {
  const file = await open(path)
  try {
    const { size } = await file.stat()
    const bytes = Buffer.allocUnsafeSlow(size)
    for (let at = 0; at < size; ) {
      const { bytesRead } = await file.read(bytes, at, Math.min(size - at, READ_BYTES))
      if (bytesRead === 0) throw new Error('it became shorter while it was read')
      at += bytesRead
    }
    return bytes
  } finally {
    await file.close()
  }
}

const READ_BYTES = 64 * 1024 * 1024

function findParts(content: Buffer): SavedSnapshot['parts'] {
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
  let from = 0
  for (let to = text.indexOf('\n'); to !== -1; to = text.indexOf('\n', from)) {
    yield text.subarray(from, to)
    from = to + 1
  }
}
