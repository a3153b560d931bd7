/** The thread that owns the log's file: disk syncs and lock waits happen here, never on the main event loop. */
import { parentPort } from 'node:worker_threads'
import Database from 'better-sqlite3'
import type { Answer, AppendAsk, Ask, Failure, FromWorker, ToWorker } from './sqlite-protocol.ts'
import { openSqliteStore, type SqliteStore } from './sqlite-store.ts'

const POLL_MILLISECONDS = 15

interface Waiting {
  readonly id: number
  readonly ask: AppendAsk
}

let store: SqliteStore
let waiting: Waiting[] = []
let poll: NodeJS.Timeout | undefined

parentPort?.on('message', (message: ToWorker) => {
  if (message === 'watch') return watch()
  if (message === 'unwatch') return clearInterval(poll)
  const { id, ask } = message
  if (ask.type !== 'append') return send({ id, answer: answer(ask) })
  waiting.push({ id, ask })
  // By then every message that arrived meanwhile is in the queue, and shares the commit.
  if (waiting.length === 1) setImmediate(commitWaiting)
})

function send(message: FromWorker): void {
  parentPort?.postMessage(message)
}

function answer(ask: Exclude<Ask, AppendAsk>): Answer {
  try {
    switch (ask.type) {
      case 'open':
        store = openSqliteStore(ask)
        return { type: 'done' }
      case 'read-stream':
        return store.readStream(ask)
      case 'read-log':
        return store.readLog(ask)
      case 'close':
        clearInterval(poll)
        commitWaiting()
        store.close()
        return { type: 'done' }
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
  appends.forEach(({ id }, index) => {
    const answer = answers[index]
    if (answer) send({ id, answer })
  })
}

function isBusy(error: unknown): boolean {
  return error instanceof Database.SqliteError && error.code.startsWith('SQLITE_BUSY')
}

function watch(): void {
  let seen = currentVersion()
  poll = setInterval(() => {
    const version = currentVersion()
    if (version === seen) return
    seen = version
    send('changed')
  }, POLL_MILLISECONDS).unref()
}

/** `undefined` when the file cannot be read: that counts as a change, and the followers' own reading tells them why. */
function currentVersion(): unknown {
  try {
    return store.version()
  } catch {
    return undefined
  }
}

function describeFailure(error: unknown): Failure {
  return {
    type: 'failed',
    message: error instanceof Error ? error.message : String(error),
    code: error instanceof Database.SqliteError ? error.code : undefined,
  }
}
