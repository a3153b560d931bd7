import { parentPort } from 'node:worker_threads'
import { errorMessage } from '../../util/error-message.ts'
import { SqliteDatabase } from './file.ts'
import {
  type Answer,
  type AppendAsk,
  type Ask,
  type Asked,
  type Failure,
  type FromWorker,
  type OpenAsk,
  packReply,
  type StoreAsk,
  type ToWorker,
  unpackAsk,
} from './protocol.ts'

/** A store behind a worker thread; its methods throw what SQLite throws. */
interface ServedStore {
  append(asks: readonly AppendAsk[]): readonly Answer[]
  answer(ask: StoreAsk): Answer
  close(): void
}

interface Waiting {
  readonly id: number
  readonly ask: AppendAsk
}

/** Answers what the main thread asks of this worker thread. Appends that arrive together share one commit, so one sync. */
export function serveAsks(open: (ask: OpenAsk) => ServedStore): void {
  let store: ServedStore
  let waiting: Waiting[] = []

  parentPort?.on('message', (message: ToWorker) => {
    if (typeof message === 'string') return
    for (const asked of message) take(unpackAsk(asked))
  })

  function take({ id, ask }: Asked): void {
    if (ask.type !== 'append') {
      tell([{ id, answer: answer(ask) }])
      return
    }
    waiting.push({ id, ask })
    // By then every message that arrived meanwhile is in the queue, and shares the commit.
    if (waiting.length === 1) setImmediate(commitWaiting)
  }

  function answer(ask: Exclude<Ask, AppendAsk>): Answer {
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
    let answers: readonly Answer[]
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
    tell(
      appends.flatMap(({ id }, index) => {
        const answer = answers[index]
        return answer ? [packReply({ id, answer })] : []
      }),
    )
  }
}

/** Sends a message to the main thread. */
export function tell(message: FromWorker): void {
  parentPort?.postMessage(message)
}

function isBusy(error: unknown): boolean {
  return error instanceof SqliteDatabase.SqliteError && error.code.startsWith('SQLITE_BUSY')
}

function describeFailure(error: unknown): Failure {
  return {
    type: 'failed',
    message: errorMessage(error),
    code: error instanceof SqliteDatabase.SqliteError ? error.code : undefined,
  }
}
