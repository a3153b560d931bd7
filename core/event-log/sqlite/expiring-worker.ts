import { serveThread } from '../../threads/thread.ts'
import { AppendQueue } from './append-queue.ts'
import type { ExpiringStore } from './expiring-store.ts'
import { openSelfHealingStore } from './self-healing-store.ts'
import type { SqliteMethods, SqliteOwnerMethods } from './worker-protocol.ts'

/** Worker thread that owns `responses.db` and deletes expired events between requests. */

const SWEEP_INTERVAL_MS = 60_000

let store: ExpiringStore
let timer: NodeJS.Timeout | undefined

const appends = new AppendQueue((requests) => store.append(requests))

const owner = serveThread<SqliteOwnerMethods, Omit<SqliteMethods, 'readLog' | 'watch' | 'unwatch'>>({
  open(request) {
    store = openSelfHealingStore(request, (file) => owner.notify('setAside', file))
    timer = setInterval(sweep, SWEEP_INTERVAL_MS).unref()
  },
  append: (request) => appends.add(request),
  readStream: (request) => store.readStream(request),
  deleteStream({ stream }) {
    store.deleteStream(stream)
  },
  close() {
    appends.commit()
    clearInterval(timer)
    timer = undefined
    store.close()
  },
})

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
