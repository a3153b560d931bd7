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
  /** Whether data and metadata were found to be valid JSON. */
  readonly isValid: boolean
}

/**
 * An event whose data and metadata are parsed on first use, which may throw an `UnreadableEventError`. Only
 * for projections and verifications: a copy with spread syntax would lack both. See
 * docs/decisions/event-log.md, "A rebuild does not parse what it does not look at".
 */
export class StoredEvent implements RecordedEvent {
  readonly position: Position
  readonly stream: string
  readonly revision: number
  readonly type: string
  /** The hash of the leaf as it is stored, if the log was opened to hash leaves. */
  readonly leafHash: Buffer | undefined
  /** Set by subscriptions. */
  isContinued = false
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
    const data = this.#data ?? this.#parse<RecordedEvent['data']>(this.dataText())
    this.#data = data
    return data
  }

  get metadata(): RecordedEvent['metadata'] {
    const metadata = this.#metadata ?? this.#parse<RecordedEvent['metadata']>(this.metadataText())
    this.#metadata = metadata
    return metadata
  }

  /** Whether data and metadata are known to be valid JSON. */
  get isValid(): boolean {
    return this.#parts.isValid || (this.#data !== undefined && this.#metadata !== undefined)
  }

  /** Whether another event is the next one of the same append, all of whose events have equal metadata. */
  isFollowedBy(next: StoredEvent): boolean {
    if (next.revision !== this.revision + 1 || next.stream !== this.stream) return false
    const { metadata, end } = next.#parts
    const distance = end - this.#parts.end
    if (metadata - this.#parts.metadata !== distance) return false
    // From the end: the ids of two requests differ there.
    for (let index = end - 1; index >= metadata; index--)
      if (next.#bytes[index] !== this.#bytes[index - distance]) return false
    return true
  }

  dataText(): string {
    return this.#bytes.toString('utf8', this.#parts.data, this.#parts.metadata - 1)
  }

  metadataText(): string {
    return this.#bytes.toString('utf8', this.#parts.metadata, this.#parts.end)
  }

  /** The leaf with the texts that are stored, whatever they look like. */
  leafText(): string {
    return this.#bytes.toString('utf8', this.#parts.leaf, this.#parts.end + 1)
  }

  // Both texts were serialized by `append` from values of these types.
  #parse<Value>(text: string): Value {
    try {
      return JSON.parse(text)
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
