import { MovedResult } from '../../threads/rpc.ts'
import { serveThread } from '../../threads/thread.ts'
import { AppendQueue } from './append-queue.ts'
import { type HistoryStore, openHistoryStore } from './history-store.ts'
import type { SqliteMethods, SqliteOwnerMethods } from './worker-protocol.ts'

/** Worker thread that owns `events.db`, so that disk syncs and lock waits never block the main event loop. */

const POLL_MS = 5

/** Number of polls between two checks that the file is still in place. */
const FILE_CHECK_POLLS = 20

let store: HistoryStore
let poll: NodeJS.Timeout | undefined

const appends = new AppendQueue((requests) => store.append(requests))

const owner = serveThread<SqliteOwnerMethods, SqliteMethods>({
  open(request) {
    store = openHistoryStore(request)
  },
  append: (request) => appends.add(request),
  readStream: (request) => store.readStream(request),
  readLog(request) {
    const page = store.readLog(request)
    const bytes = [page.events, page.leafHashes].flatMap((each) => each ?? [])
    return new MovedResult(
      page,
      bytes.map(({ buffer }) => buffer as ArrayBuffer),
    )
  },
  watch,
  unwatch() {
    clearInterval(poll)
  },
  close() {
    appends.commit()
    clearInterval(poll)
    store.close()
  },
})

function watch(): undefined {
  let lastVersion = readDataVersion()
  let polls = 0
  poll = setInterval(() => {
    polls += 1
    const version = polls % FILE_CHECK_POLLS === 0 && !isFileInPlace() ? undefined : readDataVersion()
    if (version === lastVersion) return
    lastVersion = version
    owner.notify('changed', undefined)
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
