import { UnavailableError, UnknownError } from '@eventstore/db-client'
import grpc from '@eventstore/db-client/generated/streams_grpc_pb.js'
import type { ExpectedRevision } from '../../contract/event-log.ts'
import {
  type AppendAnswer,
  type AppendRequest,
  type AppendResponse,
  decodeAppendResponse,
  encodeAppendRequest,
  type JsonEvent,
} from './append-messages.ts'
import type { ClientInternals } from './client-internals.ts'
import { ServerTimeoutError } from './errors.ts'

/** Sends appends to the server. */
export interface Appender {
  append(stream: string, events: readonly JsonEvent[], expected: ExpectedRevision): Promise<AppendAnswer>
  /** Cancels the appends that have not been answered. */
  close(): void
}

/** Appends that share one call, so that the server writes them in the order in which they were sent. */
export interface AppendPipeline extends Appender {
  /** Closes the pipeline once all of its appends have been answered. */
  drain(): void
  /** Resolves when the pipeline should not be used any more, because the call or the server has failed. */
  readonly failed: Promise<void>
}

interface PendingAppend {
  resolve(answer: AppendAnswer): void
  reject(error: unknown): void
}

/**
 * Opens a pipeline over the client's connection. The client's own batch append is not used: see
 * docs/decisions/event-log.md, "Appends share calls". Once the call has failed, or the server answers none of
 * the appends for `timeoutMs`, all of its appends are rejected.
 */
export async function openAppendPipeline(
  internals: ClientInternals,
  timeoutMs: number,
): Promise<AppendPipeline> {
  const client = await internals.getGRPCClient(grpc.StreamsClient, 'batchAppend')
  const [metadata, options] = internals.callArguments({}, { deadline: Infinity })
  const call = client.makeBidiStreamRequest<AppendRequest, AppendResponse>(
    '/event_store.client.streams.Streams/BatchAppend',
    encodeAppendRequest,
    decodeAppendResponse,
    metadata,
    options,
  )
  const pending = new Map<string, PendingAppend>()
  let failure: unknown
  let isDraining = false
  let isClosed = false
  let sent = 0
  let reportFailed: () => void = () => undefined
  const failed = new Promise<void>((resolve) => {
    reportFailed = resolve
  })

  const timer = setTimeout(() => {
    if (pending.size > 0) close(new ServerTimeoutError())
  }, timeoutMs).unref()

  function fail(error: unknown): void {
    failure ??= error
    clearTimeout(timer)
    for (const { reject } of pending.values()) reject(failure)
    pending.clear()
    reportFailed()
  }

  /** Cancels the call. It is not half-closed: the server would then not send all of its answers. */
  function close(error: unknown): void {
    if (isClosed) return
    isClosed = true
    fail(error)
    call.cancel()
  }

  call.on('data', ({ id, answer, error }: AppendResponse) => {
    timer.refresh()
    const append = pending.get(id)
    pending.delete(id)
    if (answer) append?.resolve(answer)
    else append?.reject(error ?? new UnknownError(undefined, 'the server answered without a result'))
    if (error instanceof UnavailableError) {
      reportFailed()
      void internals.handleError(client, error)
    }
    if (isDraining && pending.size === 0) close(new ServerTimeoutError())
  })
  call.on('error', (error) => {
    fail(error)
    // The client would connect again after a call that was canceled here.
    if (!isClosed) void internals.handleError(client, error)
  })
  call.on('end', () => fail(new UnknownError(undefined, 'the server ended the call')))

  return {
    failed,
    append: (stream, events, expected) =>
      new Promise((resolve, reject) => {
        if (failure !== undefined) return reject(failure)
        if (pending.size === 0) timer.refresh()
        sent += 1
        const id = `00000000-0000-4000-8000-${sent.toString(16).padStart(12, '0')}`
        pending.set(id, { resolve, reject })
        call.write({ id, stream, events, expected })
      }),
    drain() {
      isDraining = true
      if (pending.size === 0) close(new ServerTimeoutError())
    },
    close: () => close(new UnknownError(undefined, 'the event log was closed')),
  }
}
