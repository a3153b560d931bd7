import type { ExpiringStore } from './expiring-store.ts'
import { openSelfHealingStore } from './self-healing-store.ts'
import { postToMainThread, serveRequests } from './serve-requests.ts'
import type { StoreRequest, WorkerResponse } from './worker-protocol.ts'

/** Worker thread that owns `responses.db` and deletes expired events between requests. */

const SWEEP_INTERVAL_MS = 60_000

let store: ExpiringStore
let timer: NodeJS.Timeout | undefined

serveRequests((request) => {
  store = openSelfHealingStore(request, postToMainThread)
  timer = setInterval(sweep, SWEEP_INTERVAL_MS).unref()
  return { append: store.append, respond, close }
})

function respond(request: StoreRequest): WorkerResponse {
  switch (request.type) {
    case 'read-stream':
      return store.readStream(request)
    case 'delete-stream':
      store.deleteStream(request.stream)
      return { type: 'done' }
    case 'read-log':
      throw new Error('expiring streams cannot be subscribed to')
  }
}

function close(): void {
  clearInterval(timer)
  timer = undefined
  store.close()
}

/**
 * Works in small batches, so that appends run in between. After an error, such as a lock, the next interval
 * retries.
 */
function sweep(): void {
  if (timer === undefined) return
  try {
    if (store.sweep() || store.vacuum()) setImmediate(sweep)
  } catch {
    // Nothing is lost: reads skip expired events even before they are deleted.
  }
}
