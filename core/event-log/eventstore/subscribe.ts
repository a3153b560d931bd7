import type { Readable } from 'node:stream'
import { BACKWARDS, END } from '@eventstore/db-client'
import type { Position, RecordedEvent, StreamAnomaly } from '../../contract/event-log.ts'
import { untilAborted } from '../../process/timeout.ts'
import { matchesStream } from '../streams.ts'
import type { EventStoreServer } from './client.ts'
import { isInvalidPosition, ServerTimeoutError, withServerTimeout } from './errors.ts'
import { METADATA_PREFIX, type ServerEvent, toPosition, toRecordedEvent, toStreamAnomaly } from './record.ts'

type OnAnomaly = (anomaly: StreamAnomaly) => void

/**
 * Yields the events of the named streams after a position, and `caught-up` once. Ends when the signal aborts
 * or the server ends the subscription. A name that ends in `-` is a category.
 */
export async function* subscribeToStreams(
  server: EventStoreServer,
  from: Position,
  signal: AbortSignal,
  names: readonly string[],
  onAnomaly: OnAnomaly = () => undefined,
): AsyncGenerator<RecordedEvent | 'caught-up'> {
  try {
    yield* subscribeAfter(server, from, signal, names, onAnomaly)
  } catch (error) {
    if (!isInvalidPosition(error)) throw error
    // The server reads only from positions of its events. No event was received yet.
    for await (const item of subscribeAfter(server, 0, signal, names, onAnomaly))
      if (item === 'caught-up' || item.position > from) yield item
  }
}

async function* subscribeAfter(
  server: EventStoreServer,
  from: Position,
  signal: AbortSignal,
  names: readonly string[],
  onAnomaly: OnAnomaly,
): AsyncGenerator<RecordedEvent | 'caught-up'> {
  const end = server.reportsCaughtUp ? undefined : await readLastPosition(server, from, signal, names)
  if (signal.aborted) return
  if (end === from) yield 'caught-up'
  for await (const item of subscribeToAll(server, from, signal, names, onAnomaly)) {
    yield item
    if (item !== 'caught-up' && item.position === end) yield 'caught-up'
  }
}

/** Throws if the user may not read `$all`. */
export async function checkReadAccess({ client, timeoutMs }: EventStoreServer): Promise<void> {
  const source = client.readAll({ direction: BACKWARDS, fromPosition: END, maxCount: 1 })
  const newest = iterateSource(source, () => source.cancel(), new AbortController().signal, timeoutMs)
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
  for await (const { event } of iterateSource(source, () => source.cancel(), signal, timeoutMs)) {
    if (!event) continue
    if (toPosition(event.position) <= from) break
    const record = toFollowedEvent(event, streamPrefix, names)
    if (record) return record.position
  }
  return from
}

async function* subscribeToAll(
  { openSubscription, streamPrefix, timeoutMs }: EventStoreServer,
  from: Position,
  signal: AbortSignal,
  names: readonly string[],
  onAnomaly: OnAnomaly,
): AsyncGenerator<RecordedEvent | 'caught-up'> {
  const streams = names.map((name) => streamPrefix + name)
  const prefixes = [...streams, ...streams.map((name) => METADATA_PREFIX + name)]
  const opening = openSubscription(from, prefixes)
  const source = await withServerTimeout(untilAborted(opening, signal), timeoutMs).catch((error) => {
    opening.then((late) => late.unsubscribe(), ignore)
    if (!signal.aborted) throw error
  })
  if (!source) return
  const timer = setTimeout(() => source.destroy(new ServerTimeoutError()), timeoutMs)
  try {
    for await (const item of iterateSource(source, async () => source.unsubscribe(), signal)) {
      if (item === 'confirmed') clearTimeout(timer)
      else if (item === 'caught-up') yield item
      else if (item !== 'other') {
        const record = toFollowedEvent(item, streamPrefix, names)
        const anomaly = record ? undefined : toStreamAnomaly(item, streamPrefix, names)
        if (record) yield record
        if (anomaly) onAnomaly(anomaly)
      }
    }
  } finally {
    clearTimeout(timer)
  }
}

/**
 * Matches names again, because the server filters by prefix only: `ids` also matches
 * `ids-of-another-program`.
 */
function toFollowedEvent(
  event: ServerEvent | undefined,
  streamPrefix: string,
  names: readonly string[],
): RecordedEvent | undefined {
  const record = toRecordedEvent(event, streamPrefix)
  return record && matchesStream(names, record.stream) ? record : undefined
}

/** A read or subscription of the client. */
type Source<Item> = Readable & AsyncIterable<Item>

/**
 * Iterates over a read or subscription with backpressure: the next item is requested after the previous one
 * has been processed. Ends when the source ends or the signal aborts. Throws the source's error, or
 * `ServerTimeoutError` if the server takes longer than `timeoutMs` to deliver an item. `cancel` ends the gRPC
 * call, which the client does not do when iteration stops.
 */
export async function* iterateSource<Item>(
  source: Source<Item>,
  cancel: () => Promise<void>,
  signal: AbortSignal,
  timeoutMs?: number,
): AsyncGenerator<Item> {
  let isWaiting = true
  const destroy = () => source.destroy()
  const timer =
    timeoutMs && setTimeout(() => isWaiting && source.destroy(new ServerTimeoutError()), timeoutMs)
  // An error that is emitted after iteration has stopped must not end the process.
  source.on('error', ignore)
  signal.addEventListener('abort', destroy)
  if (signal.aborted) destroy()
  try {
    for await (const item of source) {
      isWaiting = false
      yield item
      isWaiting = true
      if (timer) timer.refresh()
    }
  } catch (error) {
    if (!signal.aborted) throw error
  } finally {
    if (timer) clearTimeout(timer)
    signal.removeEventListener('abort', destroy)
    cancel().catch(ignore)
  }
}

function ignore(): void {}
