import { parentPort } from 'node:worker_threads'
import { errorMessage } from '../../util/error-message.ts'
import { SqliteDatabase } from './database.ts'
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

/** A store behind a worker thread; its methods throw what SQLite throws. */
interface ServedStore {
  append(asks: readonly AppendRequest[]): readonly WorkerResponse[]
  answer(ask: StoreRequest): WorkerResponse
  close(): void
}

interface Waiting {
  readonly id: number
  readonly ask: AppendRequest
}

/** Answers what the main thread asks of this worker thread. Appends that arrive together share one commit, so one sync. */
export function serveRequests(open: (ask: OpenRequest) => ServedStore): void {
  let store: ServedStore
  let waiting: Waiting[] = []

  parentPort?.on('message', (message: WorkerInput) => {
    if (typeof message === 'string') return
    for (const asked of message) take(decodeRequest(asked))
  })

  function take({ id, request: ask }: PendingRequest): void {
    if (ask.type !== 'append') {
      postToMainThread([{ id, response: answer(ask) }])
      return
    }
    waiting.push({ id, ask })
    // By then every message that arrived meanwhile is in the queue, and shares the commit.
    if (waiting.length === 1) setImmediate(commitWaiting)
  }

  function answer(ask: Exclude<WorkerRequest, AppendRequest>): WorkerResponse {
    try {
      switch (ask.type) {
        case 'open':
          store = open(ask)
          return { type: 'done' }
        case 'close':
          commitWaiting()
          store.close()
          return { type: 'done' }
        default:
          return store.answer(ask)
      }
    } catch (error) {
      return describeFailure(error)
    }
  }

  function commitWaiting(): void {
    const appends = waiting
    waiting = []
    if (appends.length > 0) commit(appends)
  }

  function commit(appends: readonly Waiting[]): void {
    let answers: readonly WorkerResponse[]
    try {
      answers = store.append(appends.map(({ ask }) => ask))
    } catch (error) {
      // One that is too large for the room left must not fail its neighbours; a lock that others hold fails all alike.
      if (appends.length > 1 && !isBusy(error)) {
        for (const append of appends) commit([append])
        return
      }
      answers = appends.map(() => describeFailure(error))
    }
    postToMainThread(
      appends.flatMap(({ id }, index) => {
        const answer = answers[index]
        return answer ? [encodeResult({ id, response: answer })] : []
      }),
    )
  }
}

/** Sends a message to the main thread. */
export function postToMainThread(message: WorkerOutput): void {
  parentPort?.postMessage(message)
}

function isBusy(error: unknown): boolean {
  return error instanceof SqliteDatabase.SqliteError && error.code.startsWith('SQLITE_BUSY')
}

function describeFailure(error: unknown): FailedResponse {
  return {
    type: 'failed',
    message: errorMessage(error),
    code: error instanceof SqliteDatabase.SqliteError ? error.code : undefined,
  }
}
