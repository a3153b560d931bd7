import shared from '@eventstore/db-client/generated/shared_pb.js'
import status from '@eventstore/db-client/generated/status_pb.js'
import streams from '@eventstore/db-client/generated/streams_pb.js'
import type { ServerDuplexStream } from '@grpc/grpc-js'
import { status as code } from '@grpc/grpc-js'
import any from 'google-protobuf/google/protobuf/any_pb.js'
import { MAX_APPEND_BYTES, sizeOnDisk } from './append.ts'
import { parseBatchExpected, parseProposed, parseStreamName } from './messages.ts'
import type { ProposedEvent } from './records.ts'
import type { Expected, Store } from './store.ts'

type BatchAppendReq = InstanceType<typeof streams.BatchAppendReq>
type BatchAppendResp = InstanceType<typeof streams.BatchAppendResp>
export type BatchAppendCall = ServerDuplexStream<BatchAppendReq, BatchAppendResp>

interface PendingAppend {
  readonly stream: string
  readonly expected: Expected
  readonly events: ProposedEvent[]
}

/** Handles `Streams.BatchAppend`: appends in the order of their final messages, each answered by its id. */
export async function handleBatchAppend(
  call: BatchAppendCall,
  store: Store,
  beforeEach: (stream: string) => Promise<void>,
): Promise<void> {
  const pending = new Map<string, PendingAppend>()
  for await (const message of call as AsyncIterable<BatchAppendReq>) {
    const id = message.getCorrelationId()
    const key = id?.getString() ?? ''
    const options = message.getOptions()
    if (options)
      pending.set(key, {
        stream: parseStreamName(options.getStreamIdentifier()),
        expected: parseBatchExpected(options),
        events: [],
      })
    const append = pending.get(key)
    if (append === undefined) continue
    append.events.push(...message.getProposedMessagesList().map(parseProposed))
    if (!message.getIsFinal()) continue
    pending.delete(key)
    await beforeEach(append.stream)
    const response = appendOne(store, append)
    response.setCorrelationId(id)
    call.write(response)
  }
  call.end()
}

function appendOne(store: Store, { stream, expected, events }: PendingAppend): BatchAppendResp {
  const response = new streams.BatchAppendResp()
  const identifier = new shared.StreamIdentifier()
  identifier.setStreamName(Buffer.from(stream))
  response.setStreamIdentifier(identifier)
  if (sizeOnDisk(events) > MAX_APPEND_BYTES)
    return fail(response, code.INVALID_ARGUMENT, 'Maximum Append Size Exceeded')
  const result = store.append(stream, expected, events)
  if (result.type === 'deleted') return fail(response, code.FAILED_PRECONDITION, 'Stream Deleted')
  if (result.type === 'wrong-revision') {
    fail(response, code.FAILED_PRECONDITION, 'Wrong Expected Version')
    response.getError()?.setDetails(buildWrongRevisionDetails(result.actual))
    return response
  }
  const success = new streams.BatchAppendResp.Success()
  success.setCurrentRevision(String(result.revision))
  const position = new shared.AllStreamPosition()
  position.setCommitPosition(String(result.position))
  position.setPreparePosition(String(result.position))
  success.setPosition(position)
  response.setSuccess(success)
  return response
}

function fail(response: BatchAppendResp, grpcCode: number, message: string): BatchAppendResp {
  const error = new status.Status()
  // Safe: google.rpc.Code has the numbers of the gRPC status codes.
  error.setCode(grpcCode as never)
  error.setMessage(message)
  response.setError(error)
  return response
}

function buildWrongRevisionDetails(actual: number) {
  const wrong = new shared.WrongExpectedVersion()
  if (actual === -1) wrong.setCurrentNoStream(new shared.Empty())
  else wrong.setCurrentStreamRevision(String(actual))
  const details = new any.Any()
  details.pack(wrong.serializeBinary(), 'event_store.client.WrongExpectedVersion')
  return details
}
