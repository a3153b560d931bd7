import type streams from '@eventstore/db-client/generated/streams_pb.js'
import type { ServerReadableStream } from '@grpc/grpc-js'
import { streamDeletedError, toServiceError } from './errors.ts'
import {
  buildAppended,
  buildWrongRevision,
  parseExpected,
  parseProposed,
  parseStreamName,
} from './messages.ts'
import type { ProposedEvent } from './records.ts'
import type { Store } from './store.ts'

type AppendReq = InstanceType<typeof streams.AppendReq>
type AppendResp = InstanceType<typeof streams.AppendResp>
export type AppendCall = ServerReadableStream<AppendReq, AppendResp>

/** The default of `MaxAppendSize`. */
export const MAX_APPEND_BYTES = 1024 * 1024

/** Handles `Streams.Append`: receives the options, then one message per event. */
export async function handleAppend(
  call: AppendCall,
  store: Store,
  checkAccess: (stream: string) => void,
): Promise<AppendResp> {
  let options: ReturnType<AppendReq['getOptions']>
  const events: ProposedEvent[] = []
  for await (const message of call as AsyncIterable<AppendReq>) {
    options = message.getOptions() ?? options
    const proposed = message.getProposedMessage()
    if (proposed) events.push(parseProposed(proposed))
  }
  if (!options) throw new Error('Append: options are missing')
  const stream = parseStreamName(options.getStreamIdentifier())
  checkAccess(stream)
  if (sizeOnDisk(events) > MAX_APPEND_BYTES)
    throw toServiceError('maximum-append-size-exceeded', { 'maximum-append-size': String(MAX_APPEND_BYTES) })
  const expected = parseExpected(options)
  const result = store.append(stream, expected, events)
  if (result.type === 'deleted') throw streamDeletedError(stream)
  if (result.type === 'wrong-revision') return buildWrongRevision(expected, result.actual)
  return buildAppended(result.revision, result.position)
}

/** The size that the limit applies to. */
export function sizeOnDisk(events: readonly ProposedEvent[]): number {
  return events.reduce(
    (sum, { type, data, metadata }) => sum + type.length * 2 + data.length + metadata.length,
    0,
  )
}
