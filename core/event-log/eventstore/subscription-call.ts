import type { Readable } from 'node:stream'
import { UnavailableError } from '@eventstore/db-client'
import shared from '@eventstore/db-client/generated/shared_pb.js'
import grpc from '@eventstore/db-client/generated/streams_grpc_pb.js'
import streams from '@eventstore/db-client/generated/streams_pb.js'
import type { Position } from '../../contract/event-log.ts'
import type { ClientInternals } from './client-internals.ts'
import { ServerTimeoutError } from './errors.ts'
import { decodeReadResponse, type SubscriptionItem } from './read-response.ts'

type Request = InstanceType<typeof streams.ReadReq>

/** A call of `Streams.Read`: a readable stream of what the server sends. */
export interface SubscriptionCall extends Readable {
  unsubscribe(): void
}

/**
 * Subscribes to the events after a position in streams whose names begin with one of the prefixes. The
 * client's own subscription is not used, because it decodes messages slowly; see `decodeReadResponse`.
 */
export async function openSubscription(
  internals: ClientInternals,
  from: Position,
  prefixes: readonly string[],
): Promise<SubscriptionCall> {
  const client = await internals.getGRPCClient(grpc.StreamsClient, 'subscribeToAll')
  const [metadata, options] = internals.callArguments({}, { deadline: Infinity })
  const call = client.makeServerStreamRequest<Request, SubscriptionItem>(
    '/event_store.client.streams.Streams/Read',
    (request) => Buffer.from(request.serializeBinary()),
    decodeReadResponse,
    buildRequest(from, prefixes),
    metadata,
    options,
  )
  let isCanceled = false
  call.on('error', (error) => {
    // The client would connect again after a call that was canceled here.
    if (isCanceled) return
    const isSilent = error instanceof ServerTimeoutError
    void internals.handleError(client, isSilent ? new UnavailableError(undefined, error.message) : error)
  })
  return Object.assign(call, {
    unsubscribe() {
      isCanceled = true
      call.cancel()
    },
  })
}

/**
 * The server looks at this many events at a time for some that pass the filter, and sends a checkpoint, which
 * is not used, after 1,000 such windows. By default, it sends one after every 32 events: thousands at a start
 * behind many stored responses.
 */
const SEARCH_WINDOW = 1000
const CHECKPOINT_INTERVAL = 1000

function buildRequest(from: Position, prefixes: readonly string[]): Request {
  const all = new streams.ReadReq.Options.AllOptions()
  if (from === 0) all.setStart(new shared.Empty())
  else {
    // An event's commit and prepare positions are equal unless it was written in an explicit transaction,
    // which only the TCP clients of EventStoreDB 5 supported.
    const position = new streams.ReadReq.Options.Position()
    position.setCommitPosition(String(from))
    position.setPreparePosition(String(from))
    all.setPosition(position)
  }
  const names = new streams.ReadReq.Options.FilterOptions.Expression()
  names.setPrefixList([...prefixes])
  const filter = new streams.ReadReq.Options.FilterOptions()
  filter.setStreamIdentifier(names)
  filter.setMax(SEARCH_WINDOW)
  filter.setCheckpointintervalmultiplier(CHECKPOINT_INTERVAL)
  const uuid = new streams.ReadReq.Options.UUIDOption()
  uuid.setString(new shared.Empty())
  const options = new streams.ReadReq.Options()
  options.setAll(all)
  options.setSubscription(new streams.ReadReq.Options.SubscriptionOptions())
  options.setFilter(filter)
  options.setUuidOption(uuid)
  const request = new streams.ReadReq()
  request.setOptions(options)
  return request
}
