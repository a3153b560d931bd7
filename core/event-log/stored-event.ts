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

/** The values of an event's texts that were parsed when it was received. */
export interface ParsedTexts {
  readonly data?: RecordedEvent['data'] | undefined
  readonly metadata?: RecordedEvent['metadata'] | undefined
}

/**
 * An event whose data and metadata are parsed on first use, which may throw an `UnreadableEventError`. Only
 * for projections and verifications: a copy with spread syntax would lack both. See
 * docs/decisions/event-log.md, "A rebuild reads pages of bytes".
 */
export abstract class UnparsedEvent implements RecordedEvent {
  readonly position: Position
  readonly stream: string
  readonly revision: number
  readonly type: string
  #data: RecordedEvent['data'] | undefined
  #metadata: RecordedEvent['metadata'] | undefined

  constructor(
    { position, stream, revision, type }: Omit<RecordedEvent, 'data' | 'metadata'>,
    { data, metadata }: ParsedTexts = {},
  ) {
    this.position = position
    this.stream = stream
    this.revision = revision
    this.type = type
    this.#data = data
    this.#metadata = metadata
  }

  abstract dataText(): string

  abstract metadataText(): string

  get data(): RecordedEvent['data'] {
    this.#data ??= this.#parse<RecordedEvent['data']>(this.dataText())
    return this.#data
  }

  get metadata(): RecordedEvent['metadata'] {
    this.#metadata ??= this.#parse<RecordedEvent['metadata']>(this.metadataText())
    return this.#metadata
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

/** An event of the embedded log, in a page of bytes. */
export class StoredEvent extends UnparsedEvent {
  /** The hash of the leaf as it is stored, if the log was opened to hash leaves. */
  readonly leafHash: Buffer | undefined
  readonly #bytes: Buffer
  readonly #parts: StoredParts

  constructor(bytes: Buffer, parts: StoredParts, leafHash: Buffer | undefined) {
    super(parts)
    this.leafHash = leafHash
    this.#bytes = bytes
    this.#parts = parts
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
}

/** An event of a server, whose texts are known to be valid JSON. */
export class ReceivedEvent extends UnparsedEvent {
  readonly #dataText: string
  readonly #metadataText: string

  constructor(
    event: Omit<RecordedEvent, 'data' | 'metadata'>,
    texts: { readonly data: string; readonly metadata: string },
    parsed: ParsedTexts,
  ) {
    super(event, parsed)
    this.#dataText = texts.data
    this.#metadataText = texts.metadata
  }

  dataText(): string {
    return this.#dataText
  }

  metadataText(): string {
    return this.#metadataText
  }
}

/** Returns an event as a plain object, with everything parsed. */
export function toPlainEvent(event: RecordedEvent): RecordedEvent {
  if (!(event instanceof UnparsedEvent)) return event
  const { position, stream, revision, type, data, metadata } = event
  return { position, stream, revision, type, data, metadata }
}
