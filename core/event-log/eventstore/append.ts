import {
  ANY,
  type AppendExpectedRevision,
  type AppendResult,
  jsonEvent,
  MaxAppendSizeExceededError,
  NO_STREAM,
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
import { encodeEvents } from '../streams.ts'
import type { EventStoreServer, SendAppend } from './client.ts'
import { isTransientError, mayHaveReachedServer, toUnavailableError } from './errors.ts'
import { toPosition } from './record.ts'
import { readBatches } from './subscribe.ts'

/**
 * Above this size, the timeout of an append grows with its size: it includes the time to send a message per
 * event, which a busy process or a slow connection prolongs.
 */
const BYTES_PER_TIMEOUT = 250_000

/** Appends events, all or none of them. */
export async function appendEvents(
  server: EventStoreServer,
  stream: string,
  events: readonly NewEvent[],
  { expectedRevision, metadata }: AppendOptions,
): Promise<Appended> {
  const name = server.streamPrefix + stream
  const { bytes } = encodeEvents(stream, events, metadata)
  const proposed = events.map(({ type, data }) => jsonEvent({ type, data, metadata }))
  try {
    const result = await server.sendAppend(name, proposed, {
      expectedRevision: toServerRevision(expectedRevision),
      deadline: server.timeoutMs * Math.max(1, bytes / BYTES_PER_TIMEOUT),
    })
    const revision = Number(result.nextExpectedRevision)
    const position = result.position && toPosition(result.position.commit)
    return { revision, position: position ?? (await readPositionOf(server, name, revision)) }
  } catch (error) {
    if (error instanceof WrongExpectedVersionError)
      throw toWrongRevisionError(stream, expectedRevision, error)
    if (error instanceof MaxAppendSizeExceededError)
      throw new AppendTooLargeError(stream, bytes, error.maxAppendSize)
    if (error instanceof StreamDeletedError)
      throw new StreamDamagedError(stream, 'was deleted permanently', { cause: error })
    throw toUnavailableError(error)
  }
}

/**
 * Sends every append once more if it fails with a transient error. This is safe because the event ids stay
 * the same: the server acknowledges events that it already holds at the expected revision as if it had just
 * written them. If the second attempt fails, too, the error's `outcomeUnknown` says whether one of the two
 * may have been written.
 */
export function retryAppends(send: SendAppend): SendAppend {
  return async (...append) => {
    try {
      return await send(...append)
    } catch (first) {
      if (!isTransientError(first)) throw first
      return await send(...append).catch((second) => {
        if (second instanceof WrongExpectedVersionError) throw second
        throw toUnavailableError(second, mayHaveReachedServer(first) || mayHaveReachedServer(second))
      })
    }
  }
}

/**
 * Sends appends in the order of the calls, and none after one whose outcome is unknown. The client sends all
 * of them over one call, which the first one has to open.
 */
export function orderAppends(send: SendAppend): SendAppend {
  let first: Promise<unknown> | undefined
  let failed: Promise<AppendResult> | undefined
  return async (...append) => {
    if (first) await first.catch(() => undefined)
    if (failed) return failed
    const sent = send(...append)
    first ??= sent
    sent.catch((error) => {
      if (!(error instanceof WrongExpectedVersionError)) failed ??= sent
    })
    return sent
  }
}

function toServerRevision(expected: ExpectedRevision): AppendExpectedRevision {
  if (expected === 'any') return ANY
  return expected === -1 ? NO_STREAM : BigInt(expected)
}

function toWrongRevisionError(
  stream: string,
  expected: ExpectedRevision,
  { actualVersion }: WrongExpectedVersionError,
): WrongExpectedRevisionError {
  const actual = typeof actualVersion === 'bigint' ? Number(actualVersion) : -1
  return new WrongExpectedRevisionError(stream, Number(expected), actual)
}

/** Reads an event's position, which a server omits if it held the events of an append already. */
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
