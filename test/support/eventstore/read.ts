import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import type streams from '@eventstore/db-client/generated/streams_pb.js'
import type { ServerWritableStream } from '@grpc/grpc-js'
import { readFilter } from './filter.ts'
import {
  readStreamName,
  writeCaughtUp,
  writeCheckpoint,
  writeConfirmation,
  writeEvent,
  writeStreamNotFound,
} from './messages.ts'
import type { Store, StoredEvent } from './store.ts'

type ReadReq = InstanceType<typeof streams.ReadReq>
type ReadResp = InstanceType<typeof streams.ReadResp>
type Options = InstanceType<typeof streams.ReadReq.Options>
export type ReadCall = ServerWritableStream<ReadReq, ReadResp>

const PAGE = 100
const END = Number.MAX_SAFE_INTEGER

/** Answers `Streams.Read`: of a stream or of `$all`, either way, or as a subscription to `$all`. */
export async function answerRead(call: ReadCall, store: Store, tellsCaughtUp: boolean): Promise<void> {
  const options = call.request.getOptions()
  if (!options) throw new Error('a read needs options')
  if (options.hasSubscription()) await send(call, subscribe(call, options, store, tellsCaughtUp))
  else await send(call, options.hasStream() ? readStream(options, store) : readAll(options, store))
  call.end()
}

/** Waits while the client does not take what was sent. */
async function send(call: ReadCall, answers: AsyncIterable<ReadResp> | Iterable<ReadResp>): Promise<void> {
  for await (const answer of answers) {
    if (call.cancelled) return
    if (!call.write(answer)) await first((signal) => [once(call, 'drain', { signal }), left(call, signal)])
  }
}

function* readStream(options: Options, store: Store): Generator<ReadResp> {
  const request = options.getStream()
  const stream = readStreamName(request?.getStreamIdentifier())
  if (!store.exists(stream)) return yield writeStreamNotFound(stream)
  const forwards = options.getReadDirection() === 0
  const from = request?.hasRevision() ? Number(request.getRevision()) : request?.hasStart() ? 0 : END
  const read = (next: number, count: number) =>
    store.readStream(stream, next, forwards ? 'forwards' : 'backwards', count)
  yield* pages(Number(options.getCount()), from, read, ({ revision }) => revision + (forwards ? 1 : -1))
}

function* readAll(options: Options, store: Store): Generator<ReadResp> {
  const request = options.getAll()
  const forwards = options.getReadDirection() === 0
  const place = request?.getPosition()
  const from = place ? Number(place.getCommitPosition()) : request?.hasStart() ? 0 : END
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
  let left = count
  let next = from
  while (left > 0) {
    const page = read(next, Math.min(PAGE, left))
    for (const event of page) {
      yield writeEvent(event)
      next = after(event)
    }
    if (page.length < PAGE) return
    left -= page.length
  }
}

async function* subscribe(
  call: ReadCall,
  options: Options,
  store: Store,
  tellsCaughtUp: boolean,
): AsyncGenerator<ReadResp> {
  const filter = readFilter(options.getFilter())
  const place = options.getAll()?.getPosition()
  let next = place ? Number(place.getCommitPosition()) + 1 : 0
  let looked = 0
  let caughtUp = false
  yield writeConfirmation(randomUUID())
  while (!call.cancelled) {
    const page = store.readAll(next, 'forwards', PAGE)
    for (const event of page) {
      if (filter.passes(event)) yield writeEvent(event)
      next = event.position + 1
      looked += 1
      if (looked % filter.checkpointInterval === 0) yield writeCheckpoint(event.position)
    }
    if (page.length > 0) continue
    if (!caughtUp && tellsCaughtUp) yield writeCaughtUp()
    caughtUp = true
    await written(call, store, next)
  }
}

/** Resolves when there may be something at the position, or the client has left. */
async function written(call: ReadCall, store: Store, next: number): Promise<void> {
  if (store.readAll(next, 'forwards', 1).length > 0) return
  await first((signal) => [once(store, 'written', { signal }), left(call, signal)])
}

async function left(call: ReadCall, signal: AbortSignal): Promise<unknown> {
  return call.cancelled || once(call, 'cancelled', { signal })
}

/** Resolves with the first of several waits, and ends the others. */
async function first(waits: (signal: AbortSignal) => Promise<unknown>[]): Promise<void> {
  const done = new AbortController()
  const all = waits(done.signal)
  await Promise.race(all)
  done.abort()
  await Promise.allSettled(all)
}
