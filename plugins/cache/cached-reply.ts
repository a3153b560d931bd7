import {
  isJsonObject,
  type Reply,
  ReplyEvent,
  type ReplyingExchange,
  type ReplyPart,
  type Target,
  type Warning,
} from '../../core/contract/index.ts'
import { NATIVE } from '../../core/contract/native-records.ts'
import { parseJsonObject } from '../../core/util/json.ts'

/** The version of `CachedReply`. Entries of other versions are misses. */
const VERSION = 1

/** A reply as it is stored, before rules have inspected it. */
export interface CachedReply {
  readonly version: typeof VERSION
  /** Unix time in seconds. */
  readonly storedAt: number
  /** The model that answered; null if a plugin did. */
  readonly target: Pick<Target, 'provider' | 'model'> | null
  /** About the call of the provider, such as omitted parameters. */
  readonly warnings: readonly Warning[]
  readonly content: CachedContent
}

/** A whole reply with the provider's own text, or the parts of each event of each batch of a stream. */
export type CachedContent =
  | { readonly type: 'whole'; readonly parts: readonly ReplyPart[]; readonly source?: string }
  | { readonly type: 'stream'; readonly batches: readonly (readonly (readonly ReplyPart[])[])[] }

export function buildCachedReply(
  { target }: ReplyingExchange,
  warnings: readonly Warning[],
  content: CachedContent,
): CachedReply {
  return {
    version: VERSION,
    storedAt: Math.floor(Date.now() / 1000),
    target: target === undefined ? null : { provider: target.provider, model: target.model },
    warnings,
    content,
  }
}

/** Returns the stored reply; undefined if it is older than `ttlSeconds`, of another version, or damaged. */
export function toCachedReply(stored: unknown, ttlSeconds: number): CachedReply | undefined {
  if (!isJsonObject(stored) || stored.version !== VERSION) return undefined
  const { target, warnings, content } = stored
  const isIntact = (target === null || isJsonObject(target)) && isListOf(isJsonObject, warnings)
  if (!isIntact || !isContent(content)) return undefined
  // The cast is safe: the version determines the rest.
  const reply = stored as unknown as CachedReply
  // A clock that was set back since then would keep it for longer.
  return Math.abs(Date.now() / 1000 - reply.storedAt) < ttlSeconds ? reply : undefined
}

/** Checks the shape, since other programs can write to Redis. */
function isContent(value: unknown): boolean {
  if (!isJsonObject(value)) return false
  if (value.type === 'whole') return isListOf(isPart, value.parts)
  const isEvent = (event: unknown) => isListOf(isPart, event)
  return value.type === 'stream' && isListOf((batch) => isListOf(isEvent, batch), value.batches)
}

function isPart(value: unknown): boolean {
  return isJsonObject(value) && PART_TYPES.has(value.type)
}

function isListOf(isItem: (item: unknown) => boolean, value: unknown): boolean {
  return Array.isArray(value) && value.every((item) => isItem(item))
}

const PART_TYPES: ReadonlySet<unknown> = new Set<ReplyPart['type']>([
  ...(['start', 'text', 'reasoning', 'refusal', 'image', 'unread', 'tool-start', 'tool-json'] as const),
  ...(['usage', 'finish', 'extra', 'embedding', 'moderation'] as const),
])

/** Returns the content of a whole reply. */
export function toCachedContent(event: ReplyEvent): CachedContent {
  const source = event[NATIVE]?.source
  return { type: 'whole', parts: event.parts, ...(source !== undefined && { source }) }
}

/**
 * Returns the reply for a request of either type. Streams keep their chunks; a whole reply keeps the fields
 * of the provider that the parts do not have.
 */
export function replay(content: CachedContent, wanted: Reply['type']): Reply {
  if (content.type === 'whole') {
    const record =
      wanted === 'whole' && content.source !== undefined ? parseJsonObject(content.source) : undefined
    const native = record && { record, source: content.source }
    return { type: 'whole', event: new ReplyEvent(content.parts, native) }
  }
  if (wanted === 'stream') return { type: 'stream', batches: replayBatches(content.batches) }
  return { type: 'whole', event: new ReplyEvent(joinParts(content.batches.flat(2))) }
}

async function* replayBatches(
  batches: readonly (readonly (readonly ReplyPart[])[])[],
): AsyncIterable<readonly ReplyEvent[]> {
  for (const events of batches) yield events.map((parts) => new ReplyEvent(parts))
}

/** Joins texts that a stream has in pieces, and keeps the last usage, as a whole reply has them. */
function joinParts(parts: readonly ReplyPart[]): readonly ReplyPart[] {
  const joined: ReplyPart[] = []
  const usage = parts.findLast(({ type }) => type === 'usage')
  for (const part of parts) {
    if (part.type === 'usage' && part !== usage) continue
    const previous = joined.at(-1)
    const both = previous && joinPair(previous, part)
    if (both === undefined) joined.push(part)
    else joined[joined.length - 1] = both
  }
  return joined
}

function joinPair(first: ReplyPart, second: ReplyPart): ReplyPart | undefined {
  if (first.type === 'tool-json' && second.type === 'tool-json')
    return first.index === second.index ? { ...first, json: first.json + second.json } : undefined
  if (first.type !== second.type || !('text' in first) || !('text' in second)) return undefined
  return { ...first, text: first.text + second.text }
}
