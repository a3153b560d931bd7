import { type EventLog, Type, WrongExpectedRevisionError } from '../contract/index.ts'
import { SYSTEM_ACTOR } from '../event-log/actor.ts'
import { CHECKPOINTS_STREAM, LOG_STREAM } from '../event-log/streams.ts'
import { newLogId } from '../util/ids.ts'
import { createMetadata, SCHEMA_VERSION } from './codec.ts'
import { defineEvent, Id } from './define-event.ts'

export const IDS_STREAM = 'ids'

/**
 * The identity of the event log, the first event of a new one. See docs/decisions/event-log.md, "A log has an
 * identity".
 */
const LogCreated = defineEvent({
  type: 'LogCreated',
  schema: Type.Object({ id: Type.String() }),
  stream: LOG_STREAM,
  audit: { kind: 'log', change: 'created' },
})

/**
 * A signed checkpoint over the events before it. See docs/decisions/evidence.md, "Checkpoints are leaves,
 * too".
 */
export const CheckpointSigned = defineEvent({
  type: 'CheckpointSigned',
  schema: Type.Object({
    /** The checkpoint as a C2SP signed note. */
    note: Type.String(),
    /** The public key of the signature, as C2SP writes it. */
    key: Type.String(),
    /** SHA-256 of the positions since the previous checkpoint of this log, as 64-bit integers, in hex. */
    positions: Type.String(),
  }),
  stream: CHECKPOINTS_STREAM,
  audit: null,
})

/** A reservation of `count` numbers for users, rules, groups and policies, starting at `first`. */
const IdsReserved = defineEvent({
  type: 'IdsReserved',
  schema: Type.Object({ first: Id, count: Id }),
  stream: IDS_STREAM,
  audit: null,
})

export const logEvents = [LogCreated, CheckpointSigned, IdsReserved] as const

/**
 * Returns the id of the log, and gives it one if it has none. Of several processes that do so at once, one
 * writes the id and all return it. `time` is that of the event.
 */
export async function ensureLogId(log: EventLog, time: string): Promise<string> {
  const existing = await readLogId(log)
  if (existing !== undefined) return existing
  const written = await writeLogId(log, -1, time)
  if (written !== undefined) return written
  const winner = await readLogId(log)
  if (winner !== undefined) return winner
  throw new Error(
    `The stream "${LOG_STREAM}" of the event log holds no readable LogCreated event: another program has ` +
      'written to it, or it was deleted. Give the gateway an event log of its own.',
  )
}

/** Gives an imported log an id of its own, behind that of the log that was exported. */
export async function appendLogId(log: EventLog, time: string): Promise<void> {
  let revision = -1
  for await (const record of log.read(LOG_STREAM)) revision = record.revision
  if ((await writeLogId(log, revision, time)) === undefined)
    throw new Error('Another process has started to use the event log. Import into an empty event log.')
}

/** Resolves with undefined if another process was first. */
async function writeLogId(log: EventLog, revision: number, time: string): Promise<string | undefined> {
  const id = newLogId()
  const created = { type: LogCreated.type, data: { id } }
  try {
    const metadata = createMetadata({ actor: SYSTEM_ACTOR }, time)
    await log.append(LOG_STREAM, [created], { expectedRevision: revision, metadata })
    return id
  } catch (error) {
    if (!WrongExpectedRevisionError.isInstance(error)) throw error
    return undefined
  }
}

/**
 * Returns the newest id: that of an imported log is behind that of the log that was exported. Returns
 * undefined for an empty log.
 */
export async function readLogId(log: Pick<EventLog, 'read'>): Promise<string | undefined> {
  return (await readLogIds(log)).at(-1)
}

/** Returns the ids of a log, its own as the last one: those before it are of logs that were imported. */
export async function readLogIds(log: Pick<EventLog, 'read'>): Promise<readonly string[]> {
  const ids: string[] = []
  for await (const record of log.read(LOG_STREAM)) {
    const { type, data, metadata } = record
    const isKnown = type === LogCreated.type && metadata.schema <= SCHEMA_VERSION
    if (isKnown && LogCreated.hasValidData(data)) ids.push(data.id)
  }
  return ids
}
