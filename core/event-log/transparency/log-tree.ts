import {
  type EventLog,
  EventLogUnavailableError,
  type Position,
  type RecordedEvent,
} from '../../contract/event-log.ts'
import { createCooperativeYield } from '../../util/cooperative-yield.ts'
import { readToEnd } from '../streams.ts'
import { hashEventLeaf, type ReceivedLeaves } from './event-leaf.ts'
import { type ChangedEvent, createChangedEventFinder } from './find-changed-event.ts'
import type { TreeFiles } from './tree-files.ts'

/** Leaves that are kept in memory at a time. */
const FLUSH_LEAVES = 4000

/** How long hashing may block the event loop at a time, in milliseconds. */
const SLICE_MS = 2

/** Compares the leaves from an index on with the events of the log. Resolves with the first difference. */
export async function findTreeDifference(
  files: TreeFiles,
  log: Pick<EventLog, 'subscribe'>,
  from: number,
  options?: Parameters<typeof createChangedEventFinder>[1],
): Promise<ChangedEvent | undefined> {
  if (from >= files.size) return undefined
  const finder = createChangedEventFinder(await files.readLeaves(from, files.size), options)
  const slice = createCooperativeYield(SLICE_MS)
  // One event more tells an insertion from a change.
  let left = files.size - from + 1
  for await (const record of readToEnd(log, from === 0 ? 0 : await files.positionOf(from - 1))) {
    finder.check(record, hashEventLeaf(record))
    left -= 1
    if (left === 0) break
    if (slice.isDue()) await slice.yieldNow()
  }
  return finder.found()
}

/** Appends all events of the log that are not in the tree yet. */
export async function advanceLogTree(files: TreeFiles, log: Pick<EventLog, 'subscribe'>): Promise<void> {
  const slice = createCooperativeYield(SLICE_MS)
  let pending = 0
  for await (const record of readToEnd(log, files.lastPosition)) {
    files.append(record.position, hashEventLeaf(record))
    pending += 1
    if (pending % FLUSH_LEAVES === 0) await files.flush()
    if (slice.isDue()) await slice.yieldNow()
  }
  await files.flush()
}

/**
 * Appends the leaves of the events that a process has received, and reads those that it has not, such as the
 * ones before its start.
 */
export async function advanceByReceivedLeaves(
  files: TreeFiles,
  log: Pick<EventLog, 'subscribe'>,
  received: ReceivedLeaves,
): Promise<void> {
  while (files.lastPosition < received.after) {
    const { after } = received
    await advanceLogTree(files, log)
    if (files.lastPosition < after)
      throw new EventLogUnavailableError('the event log does not return all events that it has delivered')
    // Again if so many events were received meanwhile that their leaves were not kept.
  }
  const slice = createCooperativeYield(SLICE_MS)
  for (const { position, hash } of received.take()) {
    if (position > files.lastPosition) files.append(position, hash)
    if (slice.isDue()) await slice.yieldNow()
  }
  await files.flush()
}

/** Reads the event at an index of the tree. Resolves with undefined if the log holds another one there. */
export async function readLeafEvent(
  files: TreeFiles,
  log: Pick<EventLog, 'subscribe'>,
  index: number,
): Promise<RecordedEvent | undefined> {
  const position = await files.positionOf(index)
  const record = await readAfter(log, index === 0 ? 0 : await files.positionOf(index - 1))
  if (record === undefined || record.position !== position) return undefined
  const stored = await files.readHash({ level: 0, index })
  return hashEventLeaf(record).equals(stored) ? record : undefined
}

/** Whether the last leaf is still an event of the log. */
export async function endsInLog(files: TreeFiles, log: Pick<EventLog, 'subscribe'>): Promise<boolean> {
  return files.size === 0 || (await readLeafEvent(files, log, files.size - 1)) !== undefined
}

async function readAfter(
  log: Pick<EventLog, 'subscribe'>,
  position: Position,
): Promise<RecordedEvent | undefined> {
  for await (const record of readToEnd(log, position)) return record
  return undefined
}
