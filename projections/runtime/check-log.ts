import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  type EventLog,
  EventLogReplacedError,
  type Position,
  type RecordedEvent,
} from '../../core/contract/index.ts'
import { encodeEventLeaf } from '../../core/event-log/transparency/event-leaf.ts'
import { readLogId } from '../../core/events/log-events.ts'

/** Identifies an event by its place and its content. */
export interface EventReference {
  readonly position: Position
  readonly stream: string
  readonly revision: number
  /** SHA-256 of the event, in hex. */
  readonly event: string
}

export function toEventReference(record: RecordedEvent): EventReference {
  const { position, stream, revision } = record
  return { position, stream, revision, event: hashEvent(record) }
}

export function hashEvent(record: RecordedEvent): string {
  return createHash('sha256').update(encodeEventLeaf(record)).digest('hex')
}

/** What is in the place of a referenced event: the event itself, nothing, or another event. */
export async function findEvent(
  log: Pick<EventLog, 'read'>,
  reference: EventReference,
): Promise<'same' | 'missing' | 'other'> {
  for await (const record of log.read(reference.stream, reference.revision)) {
    if (record.revision !== reference.revision) return 'missing'
    // Some servers do not report positions when a single stream is read.
    const isSamePosition = record.position === reference.position || record.position === 0
    return isSamePosition && hashEvent(record) === reference.event ? 'same' : 'other'
  }
  return 'missing'
}

/**
 * How long an event may be missing before the log counts as replaced. A follower of a cluster may be behind
 * the node that the event was read from.
 */
const LAG_MS = 2000

const LAG_POLL_MS = 200

/**
 * Throws an `EventLogReplacedError` unless the log has this id and the event is still in its place. See
 * docs/decisions/event-log.md, "A log has an identity".
 */
export async function checkLogUnchanged(
  log: Pick<EventLog, 'read'>,
  id: string,
  newest: EventReference | undefined,
): Promise<void> {
  const deadline = performance.now() + LAG_MS
  for (;;) {
    const found = await readLogId(log)
    if (found !== undefined && found !== id)
      throw new EventLogReplacedError(`it was ${id} and is now ${found}`)
    const state =
      found === undefined ? 'missing' : newest === undefined ? 'same' : await findEvent(log, newest)
    if (state === 'same') return
    if (state === 'other' || performance.now() >= deadline) throw createReplacedError(id, found, newest)
    await sleep(LAG_POLL_MS)
  }
}

function createReplacedError(
  id: string,
  found: string | undefined,
  newest: EventReference | undefined,
): EventLogReplacedError {
  if (found === undefined || newest === undefined)
    return new EventLogReplacedError(`it was ${id} and is now empty`)
  const { stream, revision, position } = newest
  return new EventLogReplacedError(
    `${id} no longer holds event ${revision} of ${stream} at position ${position}; it is an older copy`,
  )
}
