import type streams from '@eventstore/db-client/generated/streams_pb.js'
import type { ServerReadableStream } from '@grpc/grpc-js'
import { toServiceError } from './errors.ts'
import {
  buildAppended,
  buildWrongRevision,
  parseExpected,
  parseProposed,
  parseStreamName,
} from './messages.ts'
import type { ProposedEvent, Store } from './store.ts'

type AppendReq = InstanceType<typeof streams.AppendReq>
type AppendResp = InstanceType<typeof streams.AppendResp>
export type AppendCall = ServerReadableStream<AppendReq, AppendResp>

/** The default maximum append size of a server. */
const MAX_APPEND_BYTES = 1024 * 1024

/** Handles `Streams.Append`: receives the options, then one message per event. */
export async function handleAppend(call: AppendCall, store: Store): Promise<AppendResp> {
  let options: ReturnType<AppendReq['getOptions']>
  const events: ProposedEvent[] = []
  for await (const message of call as AsyncIterable<AppendReq>) {
    options = message.getOptions() ?? options
    const proposed = message.getProposedMessage()
    if (proposed) events.push(parseProposed(proposed))
  }
  if (!options) throw new Error('Append: options are missing')
  const bytes = events.reduce((sum, { data, metadata }) => sum + data.length + metadata.length, 0)
  if (bytes > MAX_APPEND_BYTES)
    throw toServiceError('maximum-append-size-exceeded', { 'maximum-append-size': String(MAX_APPEND_BYTES) })
  const expected = parseExpected(options)
  const result = store.append(parseStreamName(options.getStreamIdentifier()), expected, events)
  if (result.type === 'wrong-revision') return buildWrongRevision(expected, result.actual)
  return buildAppended(result.revision, result.position)
}
