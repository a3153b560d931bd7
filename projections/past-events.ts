import { LRUCache } from 'lru-cache'
import type { EventLog, RecordedEvent } from '../core/contract/index.ts'
import { createBackgroundYield } from '../core/util/cooperative-yield.ts'
import { type DomainEvent, decodeEvent } from './events/registry.ts'
import { KeyedQueue } from './runtime/queues.ts'

/**
 * A recorded event; `event` is undefined for a type or shape that only a newer version of Signalbox can
 * decode.
 */
export interface PastEvent {
  readonly record: RecordedEvent
  readonly event: DomainEvent | undefined
}

/** Reads the events of streams, in log order. The events must not be modified. */
export type ReadPastEvents = (streams: readonly string[]) => Promise<readonly PastEvent[]>

/** Events that are kept, of all streams together: up to about 50 MB. */
const MAX_EVENTS = 40_000

/** Histories are read several times in a row, page by page or with several points in time. */
const KEPT_MS = 60_000

/**
 * Returns a function that reads streams and keeps what it has read for a minute: events do not change, so a
 * stream is then read from where the last read ended.
 */
export function createPastEventReader(log: Pick<EventLog, 'read'>, maxEvents = MAX_EVENTS): ReadPastEvents {
  const kept = new LRUCache<string, readonly PastEvent[]>({
    maxSize: maxEvents,
    sizeCalculation: ({ length }) => length + 1,
    ttl: KEPT_MS,
    ttlAutopurge: true,
  })
  const queues = new KeyedQueue()
  const merge = createMerger()

  async function readStream(stream: string): Promise<readonly PastEvent[]> {
    const known = kept.get(stream) ?? []
    const added = await readFrom(log, stream, 1 + (known.at(-1)?.record.revision ?? -1))
    const events = added.length === 0 ? known : [...known, ...added]
    kept.set(stream, events)
    return events
  }

  // Readers of the same stream wait for each other, so that only the first one reads all of it.
  return async (streams) =>
    merge(await readEach(streams, (stream) => queues.run(stream, () => readStream(stream))))
}

/** Reads whole streams, and returns their events in log order. */
export async function readStreams(
  log: Pick<EventLog, 'read'>,
  streams: readonly string[],
): Promise<readonly PastEvent[]> {
  return mergeParts(await readEach(streams, (stream) => readFrom(log, stream, 0)))
}

async function readEach(
  streams: readonly string[],
  read: (stream: string) => Promise<readonly PastEvent[]>,
): Promise<readonly (readonly PastEvent[])[]> {
  const parts: (readonly PastEvent[])[] = []
  for (const stream of streams) parts.push(await read(stream))
  return parts
}

function mergeParts(parts: readonly (readonly PastEvent[])[]): readonly PastEvent[] {
  return parts.flat().sort((a, b) => a.record.position - b.record.position)
}

/** Returns the same list for the same parts, so that what was computed from it can be found again. */
function createMerger(): (parts: readonly (readonly PastEvent[])[]) => readonly PastEvent[] {
  type Merged = { readonly parts: readonly (readonly PastEvent[])[]; readonly events: readonly PastEvent[] }
  /** By the longest part. */
  const merged = new WeakMap<readonly PastEvent[], Merged>()
  return (parts) => {
    const [longest = []] = parts.toSorted((a, b) => b.length - a.length)
    const known = merged.get(longest)
    if (known?.parts.length === parts.length && known.parts.every((part, n) => part === parts[n]))
      return known.events
    const events = mergeParts(parts)
    merged.set(longest, { parts, events })
    return events
  }
}

async function readFrom(
  log: Pick<EventLog, 'read'>,
  stream: string,
  revision: number,
): Promise<readonly PastEvent[]> {
  const slice = createBackgroundYield()
  const events: PastEvent[] = []
  for await (const record of log.read(stream, revision)) {
    if (slice.isDue()) await slice.yieldNow()
    events.push({ record, event: decodeEvent(record) })
  }
  return events
}
