import { finished, type Readable } from 'node:stream'
import { BACKWARDS, END } from '@eventstore/db-client'
import type { Position, StreamAnomaly } from '../../contract/event-log.ts'
import { untilAborted } from '../../threads/timeout.ts'
import { AutoResetEvent } from '../../util/auto-reset-event.ts'
import { ReceivedEvent } from '../stored-event.ts'
import { matchesStream } from '../streams.ts'
import type { EventStoreServer } from './client.ts'
import { isInvalidPosition, ServerTimeoutError, withServerTimeout } from './errors.ts'
import type { SubscriptionItem } from './read-response.ts'
import { METADATA_PREFIX, toPosition, toReceivedEvent, toRecordedEvent, toStreamAnomaly } from './record.ts'

/** What a subscription has received at once, in log order. */
export type Batch = readonly (ReceivedEvent | StreamAnomaly | 'caught-up')[]

/**
 * Yields the events of the named streams after a position, and `caught-up` once, in batches. Ends when the
 * signal aborts or the server ends the subscription. A name that ends in `-` is a category.
 */
export async function* subscribeToStreams(
  server: EventStoreServer,
  from: Position,
  signal: AbortSignal,
  names: readonly string[],
): AsyncGenerator<Batch> {
  try {
    yield* subscribeAfter(server, from, signal, names)
  } catch (error) {
    if (!isInvalidPosition(error)) throw error
    // The server reads only from positions of its events. No event was received yet.
    for await (const batch of subscribeAfter(server, 0, signal, names))
      yield batch.filter((item) => !(item instanceof ReceivedEvent) || item.position > from)
  }
}

async function* subscribeAfter(
  server: EventStoreServer,
  from: Position,
  signal: AbortSignal,
  names: readonly string[],
): AsyncGenerator<Batch> {
  const end = server.reportsCaughtUp ? undefined : await readLastPosition(server, from, signal, names)
  if (signal.aborted) return
  if (end === from) yield ['caught-up']
  for await (const batch of subscribeToAll(server, from, signal, names)) {
    const isLast = (item: Batch[number]) => item instanceof ReceivedEvent && item.position === end
    yield end === undefined ? batch : batch.flatMap((item) => (isLast(item) ? [item, 'caught-up'] : item))
  }
}

/** Throws if the user may not read `$all`. */
export async function checkReadAccess({ client, timeoutMs }: EventStoreServer): Promise<void> {
  const source = client.readAll({ direction: BACKWARDS, fromPosition: END, maxCount: 1 })
  const newest = readBatches(source, () => source.cancel(), new AbortController().signal, timeoutMs)
  while (!(await newest.next()).done);
}

/** The position of the newest event of the named streams, or `from` if there is none after it. */
async function readLastPosition(
  { client, streamPrefix, timeoutMs }: EventStoreServer,
  from: Position,
  signal: AbortSignal,
  names: readonly string[],
): Promise<Position> {
  const source = client.readAll({ direction: BACKWARDS, fromPosition: END })
  for await (const batch of readBatches(source, () => source.cancel(), signal, timeoutMs))
    for (const { event } of batch) {
      if (!event) continue
      if (toPosition(event.position.commit) <= from) return from
      const record = toRecordedEvent(event, streamPrefix)
      if (record && matchesStream(names, record.stream)) return record.position
    }
  return from
}

async function* subscribeToAll(
  { openSubscription, streamPrefix, timeoutMs }: EventStoreServer,
  from: Position,
  signal: AbortSignal,
  names: readonly string[],
): AsyncGenerator<Batch> {
  const streams = names.map((name) => streamPrefix + name)
  const prefixes = [...streams, ...streams.map((name) => METADATA_PREFIX + name)]
  const opening = openSubscription(from, prefixes)
  const source = await withServerTimeout(untilAborted(opening, signal), timeoutMs).catch((error) => {
    opening.then((late) => late.unsubscribe(), ignore)
    if (!signal.aborted) throw error
  })
  if (!source) return
  const timer = setTimeout(() => source.destroy(new ServerTimeoutError()), timeoutMs)
  /** Matches names again, because the server filters by prefix only: `ids` also matches `ids-of-others`. */
  const receive = (item: SubscriptionItem): Batch | Batch[number] => {
    if (item === 'confirmed') clearTimeout(timer)
    if (item === 'caught-up') return item
    if (typeof item === 'string') return []
    const record = toReceivedEvent(item, streamPrefix)
    if (record) return matchesStream(names, record.stream) ? record : []
    return toStreamAnomaly(item, streamPrefix, names) ?? []
  }
  try {
    for await (const batch of readBatches(source, async () => source.unsubscribe(), signal))
      yield batch.flatMap(receive)
  } finally {
    clearTimeout(timer)
  }
}

/** A read or subscription of the client. */
type Source<Item> = Readable & AsyncIterable<Item>

/** Limits how many items are received before the first of them is processed. */
const MAX_BATCH = 32

/**
 * Iterates over a read or subscription with backpressure: further items are requested after those that have
 * arrived were processed. They come in batches, because a promise for each takes as long as to decode it.
 * Ends when the source ends or the signal aborts. Throws the source's error, or `ServerTimeoutError` if the
 * server takes longer than `timeoutMs` to deliver an item. `cancel` ends the gRPC call, which the client does
 * not do when iteration stops.
 */
export async function* readBatches<Item>(
  source: Source<Item>,
  cancel: () => Promise<void>,
  signal: AbortSignal,
  timeoutMs?: number,
): AsyncGenerator<readonly Item[]> {
  const changed = new AutoResetEvent()
  const wake = () => changed.set()
  let received: Item[] = []
  let end: { readonly error: unknown } | undefined
  let isWaiting = true
  const destroy = () => source.destroy()
  const timer =
    timeoutMs && setTimeout(() => isWaiting && source.destroy(new ServerTimeoutError()), timeoutMs)
  source.on('data', (item) => {
    received.push(item)
    // What has arrived together is handed over in several ticks, before the next immediate.
    if (received.length === 1) setImmediate(wake)
    if (received.length === MAX_BATCH) source.pause()
  })
  // Also for an error that is emitted after iteration has stopped: it must not end the process.
  finished(source, { writable: false }, (error) => {
    end = { error }
    wake()
  })
  source.on('error', ignore)
  signal.addEventListener('abort', destroy)
  if (signal.aborted) destroy()
  try {
    while (!signal.aborted) {
      const batch = received
      received = []
      if (batch.length > 0) {
        isWaiting = false
        yield batch
        isWaiting = true
        if (timer) timer.refresh()
        source.resume()
      } else if (end === undefined) await changed.wait()
      else if (end.error === undefined || end.error === null) return
      else throw end.error
    }
  } finally {
    if (timer) clearTimeout(timer)
    signal.removeEventListener('abort', destroy)
    cancel().catch(ignore)
  }
}

function ignore(): void {}
