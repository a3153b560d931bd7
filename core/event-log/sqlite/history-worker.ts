import { parentPort } from 'node:worker_threads'
import { type HistoryStore, openHistoryStore } from './history-store.ts'
import { postToMainThread, serveRequests } from './serve-requests.ts'
import type { StoreRequest, WorkerInput, WorkerResponse } from './worker-protocol.ts'

/** Worker thread that owns `events.db`, so that disk syncs and lock waits never block the main event loop. */

const POLL_MS = 5

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
  poll = setInterval(() => {
    const version = readDataVersion()
    if (version === lastVersion) return
    lastVersion = version
    postToMainThread('changed')
  }, POLL_MS).unref()
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
