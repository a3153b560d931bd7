import { randomUUID } from 'node:crypto'
import { type AppendResult, UnknownError } from '@eventstore/db-client'
import { unpackToCommandError } from '@eventstore/db-client/dist/streams/appendToStream/unpackError.js'
import shared from '@eventstore/db-client/generated/shared_pb.js'
import grpc from '@eventstore/db-client/generated/streams_grpc_pb.js'
import streams from '@eventstore/db-client/generated/streams_pb.js'
import type { ExpectedRevision } from '../../contract/event-log.ts'
import type { ClientInternals } from './client-internals.ts'
import { ServerTimeoutError } from './errors.ts'

/** An event whose data and metadata are JSON. */
interface JsonEvent {
  readonly type: string
  readonly data: string
  readonly metadata: string
}

/** Appends that share one call, so that the server writes them in the order in which they were sent. */
export interface AppendPipeline {
  append(stream: string, events: readonly JsonEvent[], expected: ExpectedRevision): Promise<AppendResult>
}

interface PendingAppend {
  readonly stream: string
  resolve(result: AppendResult): void
  reject(error: unknown): void
}

type Request = InstanceType<typeof streams.BatchAppendReq>
type Response = InstanceType<typeof streams.BatchAppendResp>

/**
 * Opens a pipeline over the client's connection. The client's own batch append is not used: it serializes
 * every event twice, which takes more CPU time than everything else that an import does, and it keeps the
 * appends of all clients in one table. Once the call has failed, or the server answers none of the appends
 * for `timeoutMs`, all of its appends are rejected.
 */
export async function openAppendPipeline(
  internals: ClientInternals,
  timeoutMs: number,
): Promise<AppendPipeline> {
  const open = internals.GRPCStreamCreator(grpc.StreamsClient, 'batchAppend', (client) =>
    client.batchAppend(...internals.callArguments({}, { deadline: Infinity })),
  )
  const call = await open()
  const pending = new Map<string, PendingAppend>()
  let failure: unknown
  let sent = 0

  const timer = setTimeout(() => {
    if (pending.size === 0) return
    fail(new ServerTimeoutError())
    call.cancel()
  }, timeoutMs).unref()

  function fail(error: unknown): void {
    failure ??= error
    for (const { reject } of pending.values()) reject(failure)
    pending.clear()
  }

  call.on('data', (response: Response) => {
    timer.refresh()
    const id = response.getCorrelationId()?.getString() ?? ''
    const append = pending.get(id)
    pending.delete(id)
    const error = response.getError()
    if (error === undefined) append?.resolve(toAppendResult(response))
    else if (error.hasDetails()) append?.reject(unpackToCommandError(error, append.stream))
    else append?.reject(new UnknownError(undefined, error.getMessage()))
  })
  call.on('error', fail)
  call.on('end', () => fail(new UnknownError(undefined, 'the server ended the call')))

  return {
    append: (stream, events, expected) =>
      new Promise((resolve, reject) => {
        if (failure !== undefined) return reject(failure)
        if (pending.size === 0) timer.refresh()
        sent += 1
        const id = `00000000-0000-4000-8000-${sent.toString(16).padStart(12, '0')}`
        pending.set(id, { stream, resolve, reject })
        call.write(buildRequest(id, stream, events, expected))
      }),
  }
}

function buildRequest(
  id: string,
  stream: string,
  events: readonly JsonEvent[],
  expected: ExpectedRevision,
): Request {
  const identifier = new shared.StreamIdentifier()
  identifier.setStreamName(Buffer.from(stream))
  const options = new streams.BatchAppendReq.Options()
  options.setStreamIdentifier(identifier)
  if (expected === 'any') options.setAny(new shared.Empty())
  else if (expected === -1) options.setNoStream(new shared.Empty())
  else options.setStreamPosition(String(expected))
  const request = new streams.BatchAppendReq()
  request.setCorrelationId(buildUuid(id))
  request.setOptions(options)
  request.setProposedMessagesList(events.map(buildEvent))
  request.setIsFinal(true)
  return request
}

function buildEvent({ type, data, metadata }: JsonEvent) {
  const event = new streams.BatchAppendReq.ProposedMessage()
  event.setId(buildUuid(randomUUID()))
  event.getMetadataMap().set('type', type).set('content-type', 'application/json')
  event.setData(Buffer.from(data))
  event.setCustomMetadata(Buffer.from(metadata))
  return event
}

function buildUuid(text: string) {
  const uuid = new shared.UUID()
  uuid.setString(text)
  return uuid
}

function toAppendResult(response: Response): AppendResult {
  const success = response.getSuccess()
  const position = success?.getPosition()
  return {
    success: true,
    nextExpectedRevision: BigInt(success?.getCurrentRevision() ?? -1),
    ...(position && {
      position: {
        commit: BigInt(position.getCommitPosition()),
        prepare: BigInt(position.getPreparePosition()),
      },
    }),
  }
}
