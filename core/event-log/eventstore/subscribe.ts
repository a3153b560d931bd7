import type { Readable } from 'node:stream'
import { type AllStreamResolvedEvent, BACKWARDS, END, streamNameFilter } from '@eventstore/db-client'
import type { Position, RecordedEvent } from '../../contract/event-log.ts'
import { isFollowed } from '../../events/streams.ts'
import type { EventStoreServer } from './client.ts'
import { ServerTimeoutError } from './errors.ts'
import { toPosition, toRecordedEvent, toServerPosition } from './record.ts'

/**
 * The events of these streams after a position, and `caught-up` once; ends when the signal aborts or the server says so. A name
 * that ends in `-` stands for its whole category.
 */
export async function* subscribeToStreams(
  server: EventStoreServer,
  from: Position,
  signal: AbortSignal,
  names: readonly string[],
): AsyncGenerator<RecordedEvent | 'caught-up'> {
  const end = server.reportsCaughtUp ? undefined : await findEnd(server, from, signal, names)
  if (signal.aborted) return
  if (end === from) yield 'caught-up'
  for await (const item of subscribe(server, from, signal, names)) {
    yield item
    if (item !== 'caught-up' && item.position === end) yield 'caught-up'
  }
}

/** Throws when the server does not let us read the whole log. */
export async function checkReadAccess({ client, timeoutMs }: EventStoreServer): Promise<void> {
  const source = client.readAll({ direction: BACKWARDS, fromPosition: END, maxCount: 1 })
  const newest = iterateSource(source, () => source.cancel(), new AbortController().signal, timeoutMs)
  while (!(await newest.next()).done);
}

/** The position of the newest of these events, or `from` when none comes after it. */
async function findEnd(
  { client, streamPrefix, timeoutMs }: EventStoreServer,
  from: Position,
  signal: AbortSignal,
  names: readonly string[],
): Promise<Position> {
  const source = client.readAll({ direction: BACKWARDS, fromPosition: END })
  for await (const { event } of iterateSource(source, () => source.cancel(), signal, timeoutMs)) {
    if (!event) continue
    if (toPosition(event.position) <= from) break
    const record = readFollowed(event, streamPrefix, names)
    if (record) return record.position
  }
  return from
}

async function* subscribe(
  { client, streamPrefix, timeoutMs }: EventStoreServer,
  from: Position,
  signal: AbortSignal,
  names: readonly string[],
): AsyncGenerator<RecordedEvent | 'caught-up'> {
  const prefixes = names.map((name) => streamPrefix + name)
  const source = client.subscribeToAll({
    fromPosition: toServerPosition(from),
    filter: streamNameFilter({ prefixes }),
  })
  // Into the line behind the events that came before it and are not yet taken.
  source.once('caughtUp', () => source.push('caught-up'))
  const late = setTimeout(() => source.destroy(new ServerTimeoutError()), timeoutMs)
  source.once('confirmation', () => clearTimeout(late))
  try {
    for await (const item of iterateSource<AllStreamResolvedEvent | 'caught-up'>(
      source,
      () => source.unsubscribe(),
      signal,
    )) {
      const record = item === 'caught-up' ? item : readFollowed(item.event, streamPrefix, names)
      if (record) yield record
    }
  } finally {
    clearTimeout(late)
  }
}

/** The server knows prefixes only: `ids` is one of `ids-of-somebody-else`. */
function readFollowed(
  event: AllStreamResolvedEvent['event'],
  streamPrefix: string,
  names: readonly string[],
): RecordedEvent | undefined {
  const record = toRecordedEvent(event, streamPrefix)
  return record && isFollowed(record.stream, names) ? record : undefined
}

/** What the client gives for a read or a subscription. */
type Source<Item> = Readable & AsyncIterable<Item>

/**
 * The items of a read or a subscription, taken one at a time; the next is asked for when the last has been dealt with.
 * Ends when the source does or the signal aborts; throws what the source fails with, and `Late` when an item takes longer
 * to come than `timeoutMs`, in milliseconds. `hangUp` ends the call, which the client does not do by itself.
 */
export async function* iterateSource<Item>(
  source: Source<Item>,
  hangUp: () => Promise<void>,
  signal: AbortSignal,
  timeoutMs?: number,
): AsyncGenerator<Item> {
  let waiting = true
  const stop = () => source.destroy()
  const timer = timeoutMs && setTimeout(() => waiting && source.destroy(new ServerTimeoutError()), timeoutMs)
  // A failure that comes when nobody reads any more must not end the process.
  source.on('error', ignore)
  signal.addEventListener('abort', stop)
  if (signal.aborted) stop()
  try {
    for await (const item of source) {
      waiting = false
      yield item
      waiting = true
      if (timer) timer.refresh()
    }
  } catch (error) {
    if (!signal.aborted) throw error
  } finally {
    if (timer) clearTimeout(timer)
    signal.removeEventListener('abort', stop)
    hangUp().catch(ignore)
  }
}

function ignore(): void {}
