import { parentPort } from 'node:worker_threads'
import { errorMessage } from '../../util/error-message.ts'
import { SqliteDatabase } from './database.ts'
import { FileReplacedError } from './file-guard.ts'
import {
  type AppendRequest,
  decodeRequest,
  encodeResult,
  type FailedResponse,
  type OpenRequest,
  type PendingRequest,
  type StoreRequest,
  type WorkerInput,
  type WorkerOutput,
  type WorkerRequest,
  type WorkerResponse,
} from './worker-protocol.ts'

/** A store in a worker thread. Its methods throw SQLite's errors. */
interface ServedStore {
  append(requests: readonly AppendRequest[]): readonly WorkerResponse[]
  respond(request: StoreRequest): WorkerResponse
  close(): void
}

interface PendingAppend {
  readonly id: number
  readonly request: AppendRequest
}

/**
 * Serves the main thread's requests in this worker thread. Appends that arrive together share a commit and
 * its sync.
 */
export function serveRequests(open: (request: OpenRequest) => ServedStore): void {
  let store: ServedStore
  let pendingAppends: PendingAppend[] = []

  parentPort?.on('message', (message: WorkerInput) => {
    if (typeof message === 'string') return
    for (const encoded of message) receive(decodeRequest(encoded))
  })

  function receive({ id, request }: PendingRequest): void {
    if (request.type !== 'append') {
      const response = respond(request)
      postToMainThread([{ id, response }], buffersOf(response))
      return
    }
    pendingAppends.push({ id, request })
    // Deferred, so that messages that have already arrived join the same commit.
    if (pendingAppends.length === 1) setImmediate(commitPending)
  }

  function respond(request: Exclude<WorkerRequest, AppendRequest>): WorkerResponse {
    try {
      switch (request.type) {
        case 'open':
          store = open(request)
          return { type: 'done' }
        case 'close':
          commitPending()
          store.close()
          return { type: 'done' }
        default:
          return store.respond(request)
      }
    } catch (error) {
      return toFailedResponse(error)
    }
  }

  function commitPending(): void {
    const appends = pendingAppends
    pendingAppends = []
    if (appends.length > 0) commit(appends)
  }

  function commit(appends: readonly PendingAppend[]): void {
    let responses: readonly WorkerResponse[]
    try {
      responses = store.append(appends.map(({ request }) => request))
    } catch (error) {
      // An append that is too large for the remaining space must not fail the others in its batch. A lock
      // held by another process fails them all, so they are not retried one by one.
      if (appends.length > 1 && !isBusy(error)) {
        for (const append of appends) commit([append])
        return
      }
      responses = appends.map(() => toFailedResponse(error))
    }
    postToMainThread(
      appends.flatMap(({ id }, index) => {
        const response = responses[index]
        return response ? [encodeResult({ id, response })] : []
      }),
    )
  }
}

/** The main thread takes over the buffers to transfer, which are not copied. */
export function postToMainThread(message: WorkerOutput, transfer: readonly ArrayBuffer[] = []): void {
  parentPort?.postMessage(message, transfer)
}

function buffersOf(response: WorkerResponse): ArrayBuffer[] {
  if (response.type !== 'packed-page') return []
  const { events, leafHashes } = response
  return [events, leafHashes].flatMap((bytes) => (bytes ? (bytes.buffer as ArrayBuffer) : []))
}

function isBusy(error: unknown): boolean {
  return error instanceof SqliteDatabase.SqliteError && error.code.startsWith('SQLITE_BUSY')
}

function hasCode(error: unknown): error is { readonly code: string } {
  return error instanceof SqliteDatabase.SqliteError || error instanceof FileReplacedError
}

function toFailedResponse(error: unknown): FailedResponse {
  return {
    type: 'failed',
    message: errorMessage(error),
    code: hasCode(error) ? error.code : undefined,
  }
}
