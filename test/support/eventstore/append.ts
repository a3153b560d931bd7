import type streams from '@eventstore/db-client/generated/streams_pb.js'
import type { ServerReadableStream } from '@grpc/grpc-js'
import { refusal } from './faults.ts'
import { readExpected, readProposed, readStreamName, writeAppended, writeWrongRevision } from './messages.ts'
import type { ProposedEvent, Store } from './store.ts'

type AppendReq = InstanceType<typeof streams.AppendReq>
type AppendResp = InstanceType<typeof streams.AppendResp>
export type AppendCall = ServerReadableStream<AppendReq, AppendResp>

/** What a server takes in one append unless it is configured otherwise. */
const MOST_BYTES = 1024 * 1024

/** Answers `Streams.Append`: the options come first, then one message for each event. */
export async function answerAppend(call: AppendCall, store: Store): Promise<AppendResp> {
  let options: ReturnType<AppendReq['getOptions']>
  const events: ProposedEvent[] = []
  for await (const message of call as AsyncIterable<AppendReq>) {
    options = message.getOptions() ?? options
    const proposed = message.getProposedMessage()
    if (proposed) events.push(readProposed(proposed))
  }
  if (!options) throw new Error('an append needs options')
  const bytes = events.reduce((sum, { data, metadata }) => sum + data.length + metadata.length, 0)
  if (bytes > MOST_BYTES)
    throw refusal('maximum-append-size-exceeded', { 'maximum-append-size': String(MOST_BYTES) })
  const expected = readExpected(options)
  const result = store.append(readStreamName(options.getStreamIdentifier()), expected, events)
  if (result.type === 'wrong-revision') return writeWrongRevision(expected, result.actual)
  return writeAppended(result.revision, result.position)
}
