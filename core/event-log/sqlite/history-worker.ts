import { parentPort } from 'node:worker_threads'
import { type HistoryStore, openHistoryStore } from './history-store.ts'
import { postToMainThread, serveRequests } from './serve-requests.ts'
import type { StoreRequest, WorkerInput, WorkerResponse } from './worker-protocol.ts'

/** Worker thread that owns `events.db`, so that disk syncs and lock waits never block the main event loop. */

const POLL_MS = 5

/** Number of polls between two checks that the file is still in place. */
const FILE_CHECK_POLLS = 20

let store: HistoryStore
let poll: NodeJS.Timeout | undefined

serveRequests((request) => {
  store = openHistoryStore(request)
  return { append: store.append, respond, close }
})

parentPort?.on('message', (message: WorkerInput) => {
  if (message === 'watch') watch()
  else if (message === 'unwatch') clearInterval(poll)
})

function respond(request: StoreRequest): WorkerResponse {
  switch (request.type) {
    case 'read-stream':
      return store.readStream(request)
    case 'read-log':
      return store.readLog(request)
    case 'delete-stream':
      throw new Error(`stream ${request.stream} does not expire and cannot be deleted`)
  }
}

function close(): void {
  clearInterval(poll)
  store.close()
}

function watch(): void {
  let lastVersion = readDataVersion()
  let polls = 0
  poll = setInterval(() => {
    polls += 1
    const version = polls % FILE_CHECK_POLLS === 0 && !isFileInPlace() ? undefined : readDataVersion()
    if (version === lastVersion) return
    lastVersion = version
    postToMainThread('changed')
  }, POLL_MS).unref()
}

function isFileInPlace(): boolean {
  try {
    store.checkFile()
    return true
  } catch {
    return false
  }
}

/**
 * Returns undefined on error. That counts as a change: subscribers then read the log and receive the error.
 */
function readDataVersion(): unknown {
  try {
    return store.dataVersion()
  } catch {
    return undefined
  }
}
