import { type ExpiringStore, openExpiringStore } from './expiring-store.ts'
import { serveRequests } from './serve-requests.ts'
import type { StoreRequest, WorkerResponse } from './worker-protocol.ts'

/** The thread that owns the file of what expires, and takes away what has expired while nothing else is asked. */

const SWEEP_MILLISECONDS = 60_000

let store: ExpiringStore
let timer: NodeJS.Timeout | undefined

serveRequests((ask) => {
  store = openExpiringStore(ask)
  timer = setInterval(sweep, SWEEP_MILLISECONDS).unref()
  return { append: store.append, answer, close }
})

function answer(ask: StoreRequest): WorkerResponse {
  switch (ask.type) {
    case 'read-stream':
      return store.readStream(ask)
    case 'remove':
      store.deleteStream(ask.stream)
      return { type: 'done' }
    case 'read-log':
      throw new Error('what expires is not followed')
  }
}

function close(): void {
  clearInterval(timer)
  timer = undefined
  store.close()
}

/** Piece by piece, so that appends come in between. A failure, such as a lock that others hold, waits for the next round. */
function sweep(): void {
  if (timer === undefined) return
  try {
    if (store.sweep() || store.vacuum()) setImmediate(sweep)
  } catch {
    // Reads leave out what has expired, swept or not.
  }
}
