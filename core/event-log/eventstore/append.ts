import {
  ANY,
  type AppendExpectedRevision,
  type AppendResult,
  type EventData,
  jsonEvent,
  NO_STREAM,
  WrongExpectedVersionError,
} from '@eventstore/db-client'
import {
  type Appended,
  type AppendOptions,
  EventLogUnavailableError,
  type ExpectedRevision,
  type NewEvent,
  type Position,
  WrongExpectedRevisionError,
} from '../../contract/event-log.ts'
import type { EventStoreServer } from './client.ts'
import { isTransientError, mayHaveReachedServer, toUnavailableError, withTimeout } from './errors.ts'
import { toPosition } from './record.ts'
import { iterateSource } from './subscribe.ts'

/**
 * Appends, and tries a second time when the answer to the first stays out: the events keep their ids, and the server answers
 * events that it holds already at the expected revision as if it had just written them. When the second fails too, the error
 * says whether one of the two may have been written.
 */
export async function appendEvents(
  server: EventStoreServer,
  stream: string,
  events: readonly NewEvent[],
  { expectedRevision, metadata, maxAge }: AppendOptions,
): Promise<Appended> {
  const name = server.streamPrefix + stream
  const prepared = events.map(({ type, data }) => jsonEvent({ type, data, metadata: { ...metadata } }))
  try {
    if (maxAge !== undefined) await limitAge(server, name, maxAge)
    const result = await sendTwice(server, name, prepared, expectedRevision)
    const revision = Number(result.nextExpectedRevision)
    // This is how a failure looks when the connection string says throwOnAppendFailure=false.
    if (!result.success) throw new WrongExpectedRevisionError(stream, Number(expectedRevision), revision)
    const position = result.position ? toPosition(result.position) : await locate(server, name, revision)
    return { revision, position }
  } catch (error) {
    if (WrongExpectedRevisionError.isInstance(error)) throw error
    if (error instanceof WrongExpectedVersionError) throw wrongRevision(stream, expectedRevision, error)
    throw toUnavailableError(error)
  }
}

/** Comes before the events: should they not follow, a limit without events is left, and never events without a limit. */
async function limitAge(
  { client, timeoutMs }: EventStoreServer,
  name: string,
  maxAge: number,
): Promise<void> {
  await withTimeout(client.setStreamMetadata(name, { maxAge }, { deadline: timeoutMs }), timeoutMs)
}

async function sendTwice(
  { client, timeoutMs }: EventStoreServer,
  name: string,
  events: EventData[],
  expected: ExpectedRevision,
): Promise<AppendResult> {
  const options = { expectedRevision: writeExpected(expected), deadline: timeoutMs }
  const send = () => withTimeout(client.appendToStream(name, events, options), timeoutMs)
  try {
    return await send()
  } catch (first) {
    if (!isTransientError(first)) throw first
    return await send().catch((second) => {
      if (second instanceof WrongExpectedVersionError) throw second
      throw toUnavailableError(second, mayHaveReachedServer(first) || mayHaveReachedServer(second))
    })
  }
}

function writeExpected(expected: ExpectedRevision): AppendExpectedRevision {
  if (expected === 'any') return ANY
  return expected === -1 ? NO_STREAM : BigInt(expected)
}

function wrongRevision(
  stream: string,
  expected: ExpectedRevision,
  { actualVersion }: WrongExpectedVersionError,
): WrongExpectedRevisionError {
  const actual = typeof actualVersion === 'bigint' ? Number(actualVersion) : -1
  return new WrongExpectedRevisionError(stream, Number(expected), actual)
}

/** The position of an event; the protocol lets a server leave it out of its answer to an append. */
async function locate(
  { client, timeoutMs }: EventStoreServer,
  name: string,
  revision: number,
): Promise<Position> {
  const source = client.readStream(name, { fromRevision: BigInt(revision), maxCount: 1 })
  for await (const { event } of iterateSource(
    source,
    () => source.cancel(),
    new AbortController().signal,
    timeoutMs,
  )) {
    if (event?.position) return toPosition(event.position)
  }
  throw new EventLogUnavailableError(
    `the event log server does not tell the position of event ${revision} of ${name}`,
  )
}
