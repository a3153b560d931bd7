import type { Position, RecordedEvent } from '../contract/event-log.ts'

/** The text of a stored event was changed. */
export class UnreadableEventError extends Error {
  constructor(
    { position, stream, revision }: Omit<RecordedEvent, 'type' | 'data' | 'metadata'>,
    issue: string,
  ) {
    super(`Event ${revision} of ${stream}, at position ${position}, ${issue}.`)
    this.name = 'UnreadableEventError'
  }
}

/** Where the parts of a stored event are in the bytes that it was read from. */
export interface StoredParts {
  readonly position: Position
  readonly revision: number
  readonly stream: string
  readonly type: string
  /** Offsets of the leaf, of data and metadata in it, and of the end of metadata, which `]` follows. */
  readonly leaf: number
  readonly data: number
  readonly metadata: number
  readonly end: number
}

/**
 * An event of the embedded log, in a page of bytes. Data and metadata are parsed on first use, which may
 * throw an `UnreadableEventError`. Only for projections and verifications: a copy with spread syntax would
 * lack both. See docs/decisions/event-log.md, "A rebuild reads pages of bytes".
 */
export class StoredEvent implements RecordedEvent {
  readonly position: Position
  readonly stream: string
  readonly revision: number
  readonly type: string
  /** The hash of the leaf as it is stored, if the log was opened to hash leaves. */
  readonly leafHash: Buffer | undefined
  readonly #bytes: Buffer
  readonly #parts: StoredParts
  #data: RecordedEvent['data'] | undefined
  #metadata: RecordedEvent['metadata'] | undefined

  constructor(bytes: Buffer, parts: StoredParts, leafHash: Buffer | undefined) {
    this.position = parts.position
    this.stream = parts.stream
    this.revision = parts.revision
    this.type = parts.type
    this.leafHash = leafHash
    this.#bytes = bytes
    this.#parts = parts
  }

  get data(): RecordedEvent['data'] {
    this.#data ??= this.#parse<RecordedEvent['data']>(this.#parts.data, this.#parts.metadata - 1)
    return this.#data
  }

  get metadata(): RecordedEvent['metadata'] {
    this.#metadata ??= this.#parse<RecordedEvent['metadata']>(this.#parts.metadata, this.#parts.end)
    return this.#metadata
  }

  /** The leaf with the texts that are stored, whatever they look like. */
  leafText(): string {
    return this.#bytes.toString('utf8', this.#parts.leaf, this.#parts.end + 1)
  }

  // Both texts were serialized by `append` from values of these types.
  #parse<Value>(start: number, end: number): Value {
    try {
      return JSON.parse(this.#bytes.toString('utf8', start, end))
    } catch {
      throw new UnreadableEventError(this, 'is not valid JSON')
    }
  }
}

/** Returns an event as a plain object, with everything parsed. */
export function toPlainEvent(event: RecordedEvent): RecordedEvent {
  if (!(event instanceof StoredEvent)) return event
  const { position, stream, revision, type, data, metadata } = event
  return { position, stream, revision, type, data, metadata }
}
