import { type EventLog, WrongExpectedRevisionError } from '../contract/index.ts'
import { SYSTEM_ACTOR } from '../event-log/actor.ts'
import { LOG_STREAM } from '../event-log/streams.ts'
import { newLogId } from '../util/ids.ts'
import { createMetadata, decodeEvent, encodeEvent } from './codec.ts'

/**
 * Returns the id of the log, and gives it one if it has none. Of several processes that do so at once, one
 * writes the id and all return it. `time` is that of the event.
 */
export async function ensureLogId(log: EventLog, time: string): Promise<string> {
  const existing = await readLogId(log)
  if (existing !== undefined) return existing
  const id = newLogId()
  const created = encodeEvent({ type: 'LogCreated', data: { id } })
  try {
    await log.append(LOG_STREAM, [created], {
      expectedRevision: -1,
      metadata: createMetadata({ actor: SYSTEM_ACTOR }, time),
    })
    return id
  } catch (error) {
    if (!WrongExpectedRevisionError.isInstance(error)) throw error
  }
  const winner = await readLogId(log)
  if (winner !== undefined) return winner
  throw new Error(
    `The stream "${LOG_STREAM}" of the event log holds no readable LogCreated event: another program has ` +
      'written to it, or it was deleted. Give the gateway an event log of its own.',
  )
}

/** Returns undefined for a log without an id: an empty one, or one of an earlier version. */
export async function readLogId(log: Pick<EventLog, 'read'>): Promise<string | undefined> {
  for await (const record of log.read(LOG_STREAM)) {
    const event = decodeEvent(record)
    if (event?.type === 'LogCreated' && typeof event.data.id === 'string') return event.data.id
  }
  return undefined
}
