import { type AllStreamResolvedEvent, BACKWARDS, END, streamNameFilter } from '@eventstore/db-client'
import type { Position, RecordedEvent } from '../contract/event-log.ts'
import { isFollowed } from '../events/followed.ts'
import type { EventStoreServer } from './eventstore-client.ts'
import { Late } from './eventstore-failure.ts'
import { pull } from './eventstore-pull.ts'
import { readPosition, readRecord, writePosition } from './eventstore-record.ts'

/**
 * The events of these streams after a position, and `caught-up` once; ends when the signal aborts or the server says so. A name
 * that ends in `-` stands for its whole category.
 */
export async function* followFrom(
  server: EventStoreServer,
  from: Position,
  signal: AbortSignal,
  names: readonly string[],
): AsyncGenerator<RecordedEvent | 'caught-up'> {
  const end = server.tellsCaughtUp ? undefined : await findEnd(server, from, signal, names)
  if (signal.aborted) return
  if (end === from) yield 'caught-up'
  for await (const item of subscribe(server, from, signal, names)) {
    yield item
    if (item !== 'caught-up' && item.position === end) yield 'caught-up'
  }
}

/** Throws when the server does not let us read the whole log. */
export async function checkAccess({ client, patience }: EventStoreServer): Promise<void> {
  const source = client.readAll({ direction: BACKWARDS, fromPosition: END, maxCount: 1 })
  const newest = pull(source, () => source.cancel(), new AbortController().signal, patience)
  while (!(await newest.next()).done);
}

/** The position of the newest of these events, or `from` when none comes after it. */
async function findEnd(
  { client, streamPrefix, patience }: EventStoreServer,
  from: Position,
  signal: AbortSignal,
  names: readonly string[],
): Promise<Position> {
  const source = client.readAll({ direction: BACKWARDS, fromPosition: END })
  for await (const { event } of pull(source, () => source.cancel(), signal, patience)) {
    if (!event) continue
    if (readPosition(event.position) <= from) break
    const record = readFollowed(event, streamPrefix, names)
    if (record) return record.position
  }
  return from
}

async function* subscribe(
  { client, streamPrefix, patience }: EventStoreServer,
  from: Position,
  signal: AbortSignal,
  names: readonly string[],
): AsyncGenerator<RecordedEvent | 'caught-up'> {
  const prefixes = names.map((name) => streamPrefix + name)
  const source = client.subscribeToAll({
    fromPosition: writePosition(from),
    filter: streamNameFilter({ prefixes }),
  })
  // Into the line behind the events that came before it and are not yet taken.
  source.once('caughtUp', () => source.push('caught-up'))
  const late = setTimeout(() => source.destroy(new Late()), patience)
  source.once('confirmation', () => clearTimeout(late))
  try {
    for await (const item of pull<AllStreamResolvedEvent | 'caught-up'>(
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
  const record = readRecord(event, streamPrefix)
  return record && isFollowed(record.stream, names) ? record : undefined
}
