import { randomUUID } from 'node:crypto'
import {
  MaxAppendSizeExceededError,
  StreamDeletedError,
  WrongExpectedVersionError,
} from '@eventstore/db-client'
import {
  type Appended,
  type AppendOptions,
  AppendTooLargeError,
  EventLogUnavailableError,
  type ExpectedRevision,
  type NewEvent,
  type Position,
  StreamDamagedError,
  WrongExpectedRevisionError,
} from '../../contract/event-log.ts'
import { type EncodedEvents, encodeEvents } from '../streams.ts'
import type { AppendAnswer, JsonEvent } from './append-messages.ts'
import type { EventStoreServer } from './client.ts'
import { isTransientError, mayHaveReachedServer, toUnavailableError, withServerTimeout } from './errors.ts'
import { toPosition } from './record.ts'
import { readBatches } from './subscribe.ts'

/**
 * Appends events, and retries once after a transient error. Retrying is safe because the event ids stay the
 * same: the server acknowledges events that it already holds at the expected revision as if it had just
 * written them. If the retry fails, too, the error's `outcomeUnknown` says whether one of the two attempts
 * may have been written.
 */
export async function appendEvents(
  server: EventStoreServer,
  stream: string,
  events: readonly NewEvent[],
  { expectedRevision, metadata }: AppendOptions,
): Promise<Appended> {
  const name = server.streamPrefix + stream
  const encoded = encodeEvents(stream, events, metadata)
  try {
    const json = toJsonEvents(events, encoded)
    const { revision, position } = await send(server, name, json, expectedRevision)
    return { revision, position: position ?? (await readPositionOf(server, name, revision)) }
  } catch (error) {
    if (error instanceof WrongExpectedVersionError)
      throw toWrongRevisionError(stream, expectedRevision, error)
    if (error instanceof MaxAppendSizeExceededError)
      throw new AppendTooLargeError(stream, encoded.bytes, error.maxAppendSize)
    if (error instanceof StreamDeletedError)
      throw new StreamDamagedError(stream, 'was deleted permanently', { cause: error })
    throw toUnavailableError(error)
  }
}

function toJsonEvents(events: readonly NewEvent[], { data, metadata }: EncodedEvents): JsonEvent[] {
  return events.map(({ type }, index) => ({ id: randomUUID(), type, data: data[index] ?? '', metadata }))
}

async function send(
  { appends, retriesAppends, timeoutMs }: EventStoreServer,
  name: string,
  events: readonly JsonEvent[],
  expected: ExpectedRevision,
): Promise<AppendAnswer> {
  if (!retriesAppends) return appends.append(name, events, expected)
  const append = () => withServerTimeout(appends.append(name, events, expected), timeoutMs)
  try {
    return await append()
  } catch (first) {
    if (!isTransientError(first)) throw first
    return await append().catch((second) => {
      if (second instanceof WrongExpectedVersionError) throw second
      throw toUnavailableError(second, mayHaveReachedServer(first) || mayHaveReachedServer(second))
    })
  }
}

function toWrongRevisionError(
  stream: string,
  expected: ExpectedRevision,
  { actualVersion }: WrongExpectedVersionError,
): WrongExpectedRevisionError {
  const actual = typeof actualVersion === 'bigint' ? Number(actualVersion) : -1
  return new WrongExpectedRevisionError(stream, Number(expected), actual)
}

/** Reads an event's position. The protocol allows a server to omit it from the response to an append. */
async function readPositionOf(
  { client, timeoutMs }: EventStoreServer,
  name: string,
  revision: number,
): Promise<Position> {
  const source = client.readStream(name, { fromRevision: BigInt(revision), maxCount: 1 })
  const batches = readBatches(source, () => source.cancel(), new AbortController().signal, timeoutMs)
  for await (const batch of batches)
    for (const { event } of batch) if (event?.position) return toPosition(event.position.commit)
  throw new EventLogUnavailableError(
    `the event log server did not report the position of event ${revision} of ${name}`,
  )
}
