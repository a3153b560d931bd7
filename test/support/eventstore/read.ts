import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import type streams from '@eventstore/db-client/generated/streams_pb.js'
import type { ServerWritableStream } from '@grpc/grpc-js'
import { encodeEvent } from './encode-event.ts'
import { streamDeletedError, toServiceError } from './errors.ts'
import { parseFilter } from './filter.ts'
import {
  buildCaughtUp,
  buildCheckpoint,
  buildConfirmation,
  buildStreamNotFound,
  parseStreamName,
} from './messages.ts'
import type { StoredEvent } from './records.ts'
import type { Store } from './store.ts'

type ReadReq = InstanceType<typeof streams.ReadReq>
/** A response, or an encoded one. */
type ReadResp = InstanceType<typeof streams.ReadResp> | Buffer
type Options = InstanceType<typeof streams.ReadReq.Options>
export type ReadCall = ServerWritableStream<ReadReq, ReadResp>

const PAGE_SIZE = 100
const END = Number.MAX_SAFE_INTEGER

/** What a read needs to know of the node that serves it. */
interface ReadServices {
  readonly store: Store
  readonly reportsCaughtUp: boolean
  /** Throws if the caller may not read the stream or `$all`. */
  readonly checkAccess: (stream: string) => void
  /** Counts events that a subscription looked at. */
  readonly onScanned: (events: number) => void
}

/** Handles `Streams.Read`: reads a stream or `$all` in either direction, or subscribes to `$all`. */
export async function handleRead(call: ReadCall, services: ReadServices): Promise<void> {
  const options = call.request.getOptions()
  if (!options) throw new Error('Read: options are missing')
  const stream = options.hasStream() ? parseStreamName(options.getStream()?.getStreamIdentifier()) : '$all'
  services.checkAccess(stream)
  if (options.hasSubscription()) await send(call, subscribe(call, options, services))
  else await send(call, options.hasStream() ? readStream(options, services) : readAll(options, services))
  call.end()
}

export function serializeReadResponse(response: ReadResp): Buffer {
  return Buffer.isBuffer(response) ? response : Buffer.from(response.serializeBinary())
}

/** Sends responses with backpressure. */
async function send(call: ReadCall, responses: AsyncIterable<ReadResp> | Iterable<ReadResp>): Promise<void> {
  for await (const response of responses) {
    if (call.cancelled) return
    if (!call.write(response))
      await race((signal) => [once(call, 'drain', { signal }), cancelled(call, signal)])
  }
}

function* readStream(options: Options, { store }: ReadServices): Generator<ReadResp> {
  const request = options.getStream()
  const stream = parseStreamName(request?.getStreamIdentifier())
  if (store.isTombstoned(stream)) throw streamDeletedError(stream)
  if (!store.exists(stream)) return yield buildStreamNotFound(stream)
  const forwards = options.getReadDirection() === 0
  const from = request?.hasRevision() ? Number(request.getRevision()) : request?.hasStart() ? 0 : END
  const read = (next: number, count: number) =>
    store.readStream(stream, next, forwards ? 'forwards' : 'backwards', count)
  yield* pages(Number(options.getCount()), from, read, ({ revision }) => revision + (forwards ? 1 : -1))
}

function* readAll(options: Options, { store }: ReadServices): Generator<ReadResp> {
  const request = options.getAll()
  const forwards = options.getReadDirection() === 0
  const position = request?.getPosition()
  const from = position ? Number(position.getCommitPosition()) : request?.hasStart() ? 0 : END
  if (!store.isReadable(from)) throw toServiceError('invalid-position')
  const read = (next: number, count: number) =>
    store.readAll(next, forwards ? 'forwards' : 'backwards', count)
  yield* pages(Number(options.getCount()), from, read, ({ position }) => position + (forwards ? 1 : 0))
}

function* pages(
  count: number,
  from: number,
  read: (from: number, count: number) => StoredEvent[],
  after: (event: StoredEvent) => number,
): Generator<ReadResp> {
  let remaining = count
  let next = from
  while (remaining > 0) {
    const page = read(next, Math.min(PAGE_SIZE, remaining))
    for (const event of page) {
      yield encodeEvent(event)
      next = after(event)
    }
    if (page.length < PAGE_SIZE) return
    remaining -= page.length
  }
}

async function* subscribe(
  call: ReadCall,
  options: Options,
  { store, reportsCaughtUp, onScanned }: ReadServices,
): AsyncGenerator<ReadResp> {
  const filter = parseFilter(options.getFilter())
  const position = options.getAll()?.getPosition()
  let last = position ? Number(position.getCommitPosition()) : 0
  let sinceCheckpoint = 0
  let isCaughtUp = false
  yield buildConfirmation(randomUUID())
  if (!store.isReadable(last)) throw toServiceError('invalid-position')
  while (!call.cancelled) {
    const page = store.readAll(last + 1, 'forwards', PAGE_SIZE)
    onScanned(page.length)
    for (const event of page) {
      if (filter.passes(event)) yield encodeEvent(event)
      last = event.position
      sinceCheckpoint += 1
      if (sinceCheckpoint < filter.checkpointInterval) continue
      sinceCheckpoint = 0
      yield buildCheckpoint(last)
    }
    if (page.length > 0) continue
    if (!isCaughtUp && last > 0 && options.hasFilter()) yield buildCheckpoint(last)
    if (!isCaughtUp && reportsCaughtUp) yield buildCaughtUp()
    isCaughtUp = true
    await waitForEvent(call, store, last + 1)
  }
}

/** Resolves when there may be an event at or after `position`, or the call was cancelled. */
async function waitForEvent(call: ReadCall, store: Store, position: number): Promise<void> {
  if (store.readAll(position, 'forwards', 1).length > 0) return
  await race((signal) => [once(store, 'written', { signal }), cancelled(call, signal)])
}

async function cancelled(call: ReadCall, signal: AbortSignal): Promise<unknown> {
  return call.cancelled || once(call, 'cancelled', { signal })
}

/** Resolves when the first of several waits does, and aborts the others. */
async function race(waits: (signal: AbortSignal) => Promise<unknown>[]): Promise<void> {
  const abort = new AbortController()
  const all = waits(abort.signal)
  await Promise.race(all)
  abort.abort()
  await Promise.allSettled(all)
}
