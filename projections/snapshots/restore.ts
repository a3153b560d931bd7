import type { Logger } from 'pino'
import { type EventLog, EventLogUnavailableError, type Position } from '../../core/contract/index.ts'
import { createProjections, listProjections, type Projections } from '../all.ts'
import { listSnapshots } from './folder.ts'
import { hashEvent, type SnapshotHeader } from './format.ts'
import { readSnapshot, type SavedSnapshot } from './read.ts'

export interface Restored {
  readonly projections: Projections
  /** The position that the state stands at: the log is followed from there. */
  readonly position: Position
}

/**
 * The state in the newest snapshot that is whole, of this code and of this log; without one, the state before the first event.
 * One that cannot be used is never trusted in part: it is logged, and the one before it is tried.
 */
export async function restoreProjections(folder: string, log: EventLog, logger: Logger): Promise<Restored> {
  for (const { path, isOurs } of await listSnapshots(folder)) {
    try {
      if (!isOurs) throw new Error('another version of the program wrote it')
      const snapshot = await readSnapshot(path)
      await checkLog(log, snapshot.header)
      return { projections: loadProjections(snapshot), position: snapshot.header.position }
    } catch (error) {
      if (error instanceof EventLogUnavailableError) throw error
      logger.warn({ snapshot: path, err: error }, 'a snapshot is not used; the log is read instead')
    }
  }
  return { projections: createProjections(), position: 0 }
}

/** Throws unless the newest event in the snapshot is in the log, at the same place. */
export async function checkLog(log: EventLog, header: SnapshotHeader): Promise<void> {
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
