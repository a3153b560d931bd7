import shared from '@eventstore/db-client/generated/shared_pb.js'
import statuses from '@eventstore/db-client/generated/status_pb.js'
import streams from '@eventstore/db-client/generated/streams_pb.js'
import type { ServerDuplexStream, ServiceError } from '@grpc/grpc-js'
import { status } from '@grpc/grpc-js'
import any from 'google-protobuf/google/protobuf/any_pb.js'
import { MAX_APPEND_BYTES, sizeOnDisk } from './append.ts'
import { streamDeletedError, toInternalError, toServiceError } from './errors.ts'
import { parseBatchExpected, parseProposed, parseStreamName } from './messages.ts'
import type { ProposedEvent } from './records.ts'
import type { Expected, Store } from './store.ts'

type BatchAppendReq = InstanceType<typeof streams.BatchAppendReq>
type BatchAppendResp = InstanceType<typeof streams.BatchAppendResp>
export type BatchAppendCall = ServerDuplexStream<BatchAppendReq, BatchAppendResp>

/** What the handler needs to know of the node that serves the call. */
interface BatchServices {
  readonly store: Store
  /** Delays an append as its network would. Undefined if there is no delay. */
  readonly delay: () => Promise<void> | undefined
  /** Throws what refuses an append. */
  readonly check: () => void
  /** Whether the answer to an append that was executed is lost, with the connection. */
  readonly losesAnswer: () => boolean
}

interface PendingAppend {
  readonly stream: string
  readonly expected: Expected
  readonly events: ProposedEvent[]
}

type CorrelationId = ReturnType<BatchAppendReq['getCorrelationId']>

/**
 * Handles `Streams.BatchAppend`: appends in the order of their final messages, each answered by its id. As on
 * the real server, an append that is refused does not end the call, unless another node is the leader.
 */
export function handleBatchAppend(call: BatchAppendCall, services: BatchServices): void {
  const pending = new Map<string, PendingAppend>()
  let previous: Promise<void> | undefined

  function answer(id: CorrelationId, append: PendingAppend): void {
    if (call.cancelled) return
    try {
      const response = appendOrFail(services, append)
      if (services.losesAnswer() || call.writableEnded) return
      response.setCorrelationId(id)
      call.write(response)
    } catch (error) {
      call.emit('error', toInternalError(error))
    }
  }

  /** Appends that were delayed stay in order. */
  async function answerLater(id: CorrelationId, append: PendingAppend, delay: unknown): Promise<void> {
    const before = previous
    await delay
    await before
    answer(id, append)
  }

  call.on('data', (message: BatchAppendReq) => {
    const id = message.getCorrelationId()
    const key = id?.getString() ?? ''
    const options = message.getOptions()
    const append = options ? startAppend(options) : pending.get(key)
    if (append === undefined) return
    for (const proposed of message.getProposedMessagesList()) append.events.push(parseProposed(proposed))
    if (!message.getIsFinal()) return void pending.set(key, append)
    pending.delete(key)
    const delay = services.delay()
    if (delay === undefined && previous === undefined) answer(id, append)
    else previous = answerLater(id, append, delay)
  })
}

function startAppend(options: InstanceType<typeof streams.BatchAppendReq.Options>): PendingAppend {
  const stream = parseStreamName(options.getStreamIdentifier())
  return { stream, expected: parseBatchExpected(options), events: [] }
}

function appendOrFail({ store, check }: BatchServices, append: PendingAppend): BatchAppendResp {
  try {
    check()
    return appendOne(store, append)
  } catch (error) {
    return toFailure(toInternalError(error), append.stream)
  }
}

function appendOne(store: Store, { stream, expected, events }: PendingAppend): BatchAppendResp {
  if (sizeOnDisk(events) > MAX_APPEND_BYTES)
    throw toServiceError('maximum-append-size-exceeded', { 'maximum-append-size': String(MAX_APPEND_BYTES) })
  const result = store.append(stream, expected, events)
  if (result.type === 'deleted') throw streamDeletedError(stream)
  if (result.type === 'wrong-revision')
    return buildFailure(
      stream,
      status.FAILED_PRECONDITION,
      'Wrong Expected Version',
      'event_store.client.WrongExpectedVersion',
      buildWrongRevisionDetails(result.actual),
    )
  const success = new streams.BatchAppendResp.Success()
  success.setCurrentRevision(String(result.revision))
  const position = new shared.AllStreamPosition()
  position.setCommitPosition(String(result.position))
  position.setPreparePosition(String(result.position))
  success.setPosition(position)
  const response = buildResponse(stream)
  response.setSuccess(success)
  return response
}

/** Builds the answer to an append that fails. Throws errors that end the call. */
function toFailure(error: Partial<ServiceError>, stream: string): BatchAppendResp {
  const { code = status.UNKNOWN, details = '', metadata } = error
  const fail = (type: string, content: { serializeBinary(): Uint8Array }) =>
    buildFailure(stream, code, details, type, content)
  switch (metadata?.get('exception')[0]) {
    case 'access-denied':
      return fail('event_store.client.AccessDenied', new shared.AccessDenied())
    case 'stream-deleted':
      return fail('event_store.client.StreamDeleted', new shared.StreamDeleted())
    case 'maximum-append-size-exceeded': {
      const exceeded = new shared.MaximumAppendSizeExceeded()
      exceeded.setMaxappendsize(Number(metadata.get('maximum-append-size')[0]))
      return fail('event_store.client.MaximumAppendSizeExceeded', exceeded)
    }
  }
  if (code === status.UNAVAILABLE) return fail('google.protobuf.Empty', new shared.Empty())
  if (code === status.ABORTED) return fail('event_store.client.Timeout', new shared.Timeout())
  throw error
}

function buildFailure(
  stream: string,
  code: number,
  message: string,
  type: string,
  content: { serializeBinary(): Uint8Array },
): BatchAppendResp {
  const details = new any.Any()
  details.pack(content.serializeBinary(), type)
  const error = new statuses.Status()
  // Safe: google.rpc.Code has the numbers of the gRPC status codes.
  error.setCode(code as never)
  error.setMessage(message)
  error.setDetails(details)
  const response = buildResponse(stream)
  response.setError(error)
  return response
}

function buildResponse(stream: string): BatchAppendResp {
  const response = new streams.BatchAppendResp()
  const identifier = new shared.StreamIdentifier()
  identifier.setStreamName(Buffer.from(stream))
  response.setStreamIdentifier(identifier)
  return response
}

function buildWrongRevisionDetails(actual: number) {
  const wrong = new shared.WrongExpectedVersion()
  if (actual === -1) wrong.setCurrentNoStream(new shared.Empty())
  else wrong.setCurrentStreamRevision(String(actual))
  return wrong
}
