import type { EventLog, Position, RecordedEvent } from '../../contract/event-log.ts'
import { CheckpointSigned } from '../../events/log-events.ts'
import { CHECKPOINTS_STREAM } from '../streams.ts'
import { parseCheckpoint, parseVerifierKey, type SignedCheckpoint, type VerifierKey } from './checkpoint.ts'

/** A checkpoint as it is stored in the log. */
export interface StoredCheckpoint extends SignedCheckpoint {
  readonly revision: number
  /** Position of its event; 0 if the server does not report it. */
  readonly position: Position
  /** When it was signed. */
  readonly time: string
  /** The signed note as text. */
  readonly text: string
  /** The key that the event names. Only a trusted key proves something. */
  readonly key: VerifierKey
  readonly positions: string
}

/** Returns undefined for an event that holds no checkpoint. Signatures are not verified. */
export function parseStoredCheckpoint({
  revision,
  position,
  data,
  metadata: { time },
}: RecordedEvent): StoredCheckpoint | undefined {
  if (!CheckpointSigned.hasValidData(data)) return undefined
  const { note: text, positions } = data
  const checkpoint = parseCheckpoint(text)
  const key = parseVerifierKey(data.key)
  return checkpoint && key && { ...checkpoint, revision, position, time, text, key, positions }
}

const MAX_KEPT = 100

/** Finds the newest checkpoint of a log. Reads every event of the stream once. */
export class NewestCheckpoint {
  readonly #log: Pick<EventLog, 'read'>
  /** The last ones, oldest first. */
  #newest: StoredCheckpoint[] = []
  #revision = -1

  constructor(log: Pick<EventLog, 'read'>) {
    this.#log = log
  }

  /** Revision of the stream when it was last read; -1 if it had no events. */
  get revision(): number {
    return this.#revision
  }

  /** Resolves with undefined if there is none. */
  async read(): Promise<StoredCheckpoint | undefined> {
    for await (const record of this.#log.read(CHECKPOINTS_STREAM, this.#revision + 1)) {
      const checkpoint = parseStoredCheckpoint(record)
      if (checkpoint) this.#newest.push(checkpoint)
      if (this.#newest.length > MAX_KEPT) this.#newest.shift()
      this.#revision = record.revision
    }
    return this.#newest.at(-1)
  }

  /** The newest of the last hundred that `accepts` holds for, as they were last read. */
  find(accepts: (checkpoint: SignedCheckpoint) => boolean): StoredCheckpoint | undefined {
    return this.#newest.findLast(accepts)
  }
}
