import { Type } from '../contract/index.ts'
import { CHECKPOINTS_STREAM, LOG_STREAM } from '../event-log/streams.ts'
import { defineEvent, Id } from './define-event.ts'

export const IDS_STREAM = 'ids'

/**
 * The identity of the event log, the first event of a new one. See docs/decisions/event-log.md, "A log has an
 * identity".
 */
export const LogCreated = defineEvent({
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
export const IdsReserved = defineEvent({
  type: 'IdsReserved',
  schema: Type.Object({ first: Id, count: Id }),
  stream: IDS_STREAM,
  audit: null,
})

export const logEvents = [LogCreated, CheckpointSigned, IdsReserved] as const
