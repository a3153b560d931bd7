import { parentPort } from 'node:worker_threads'
import { type HistoryStore, openHistoryStore } from './history-store.ts'
import { postToMainThread, serveRequests } from './serve-requests.ts'
import type { StoreRequest, WorkerInput } from './worker-protocol.ts'

/** The thread that owns the history's file: disk syncs and lock waits happen here, never on the main event loop. */

const POLL_MILLISECONDS = 5

let store: HistoryStore
let poll: NodeJS.Timeout | undefined

serveRequests((ask) => {
  store = openHistoryStore(ask)
  return { append: store.append, answer, close }
})

parentPort?.on('message', (message: WorkerInput) => {
  if (message === 'watch') watch()
  else if (message === 'unwatch') clearInterval(poll)
})

function answer(ask: StoreRequest) {
  switch (ask.type) {
    case 'read-stream':
      return store.readStream(ask)
    case 'read-log':
      return store.readLog(ask)
    case 'remove':
      throw new Error(`${ask.stream} is kept for ever`)
  }
}

function close(): void {
  clearInterval(poll)
  store.close()
}

function watch(): void {
  let seen = currentVersion()
  poll = setInterval(() => {
    const version = currentVersion()
    if (version === seen) return
    seen = version
    postToMainThread('changed')
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
