import { finished, type Readable } from 'node:stream'
import { type AllStreamResolvedEvent, BACKWARDS, END, START, streamNameFilter } from '@eventstore/db-client'
import type { Position, RecordedEvent, StreamAnomaly } from '../../contract/event-log.ts'
import { AutoResetEvent } from '../../util/auto-reset-event.ts'
import { matchesStream } from '../streams.ts'
import type { EventStoreServer } from './client.ts'
import { isInvalidPosition, ServerTimeoutError } from './errors.ts'
import { METADATA_PREFIX, toRecordedEvent, toStreamAnomaly } from './record.ts'

/** What a subscription has received at once, in log order. */
export type Batch = readonly (RecordedEvent | StreamAnomaly | 'caught-up')[]

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
      yield batch.filter((item) => !isRecorded(item) || item.position > from)
  }
}

export function isRecorded(item: Batch[number]): item is RecordedEvent {
  return item !== 'caught-up' && 'position' in item
}

/** Throws if the user may not read `$all`. */
export async function checkReadAccess({ client, timeoutMs }: EventStoreServer): Promise<void> {
  const source = client.readAll({ direction: BACKWARDS, fromPosition: END, maxCount: 1 })
  const newest = readBatches(source, () => source.cancel(), new AbortController().signal, timeoutMs)
  while (!(await newest.next()).done);
}

/**
 * The server looks at this many events at a time for some that pass the filter, and reports then that it has
 * got so far. By default it does after every 32 events.
 */
const SEARCH_WINDOW = 1000

/** What a subscription receives, in order. */
type Item = AllStreamResolvedEvent | 'confirmation' | 'checkpoint' | 'caughtUp'

async function* subscribeAfter(
  { client, streamPrefix, timeoutMs }: EventStoreServer,
  from: Position,
  signal: AbortSignal,
  names: readonly string[],
): AsyncGenerator<Batch> {
  const streams = names.map((name) => streamPrefix + name)
  let isConfirmed = false
  let isCaughtUp = false
  const source = client.subscribeToAll({
    // An event's commit and prepare positions are equal unless it was written in an explicit transaction,
    // which only the TCP clients of EventStoreDB 5 supported.
    fromPosition: from === 0 ? START : { commit: BigInt(from), prepare: BigInt(from) },
    filter: streamNameFilter({
      prefixes: [...streams, ...streams.map((name) => METADATA_PREFIX + name)],
      maxSearchWindow: SEARCH_WINDOW,
      checkpointInterval: 1,
      checkpointReached: async () => void source.push('checkpoint'),
    }),
  })
  // The client emits these while events before them may be buffered. As items, they keep their place.
  for (const notice of ['confirmation', 'caughtUp'] as const) source.on(notice, () => source.push(notice))

  /** Matches names again, because the server filters by prefix only: `ids` also matches `ids-of-others`. */
  const receive = (item: Item): Batch | Batch[number] => {
    if (item === 'confirmation') isConfirmed = true
    if (item === 'caughtUp' && !isCaughtUp) {
      isCaughtUp = true
      return 'caught-up'
    }
    if (typeof item === 'string' || item.event === undefined) return []
    const record = toRecordedEvent(item.event, streamPrefix)
    if (record) return matchesStream(names, record.stream) ? record : []
    return toStreamAnomaly(item.event, streamPrefix, names) ?? []
  }
  const batches = readBatches<Item>(
    source,
    () => source.unsubscribe(),
    signal,
    timeoutMs,
    () => {
      if (!isCaughtUp) return new ServerTimeoutError(isConfirmed ? NO_END : undefined)
    },
  )
  for await (const batch of batches) yield batch.flatMap(receive)
}

const NO_END =
  'the event log server did not report the end of the log in time; servers before 23.10 do not ' +
  '(docs/event-log.md, "Versions")'

/** A read or subscription of the client. */
type Source<Item> = Readable & AsyncIterable<Item>

/** Limits how many items are received before the first of them is processed. */
const MAX_BATCH = 32

/**
 * Iterates over a read or subscription with backpressure: further items are requested after those that have
 * arrived were processed. They come in batches, because a promise for each takes as long as to decode it.
 * Ends when the source ends or the signal aborts. Throws the source's error, or what `createTimeoutError`
 * returns if the server takes longer than `timeoutMs` to deliver an item. `cancel` ends the gRPC call, which
 * the client does not do when iteration stops.
 */
export async function* readBatches<Item>(
  source: Source<Item>,
  cancel: () => Promise<void>,
  signal: AbortSignal,
  timeoutMs: number,
  createTimeoutError: () => Error | undefined = () => new ServerTimeoutError(),
): AsyncGenerator<readonly Item[]> {
  const changed = new AutoResetEvent()
  const wake = () => changed.set()
  let received: Item[] = []
  let end: { readonly error: unknown } | undefined
  let isWaiting = true
  const destroy = () => source.destroy()
  const timer = setTimeout(() => {
    const error = isWaiting ? createTimeoutError() : undefined
    if (error) source.destroy(error)
  }, timeoutMs)
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
        timer.refresh()
        source.resume()
      } else if (end === undefined) await changed.wait()
      else if (end.error === undefined || end.error === null) return
      else throw end.error
    }
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', destroy)
    cancel().catch(ignore)
  }
}

function ignore(): void {}
