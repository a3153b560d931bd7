import { type FSWatcher, watch as watchFile } from 'node:fs'
import { MovedResult } from '../../threads/rpc.ts'
import { serveThread } from '../../threads/thread.ts'
import { AppendQueue } from './append-queue.ts'
import { type HistoryStore, openHistoryStore } from './history-store.ts'
import type { SqliteMethods, SqliteOwnerMethods } from './worker-protocol.ts'

/** Worker thread that owns `events.db`, so that disk syncs and lock waits never block the main event loop. */

/** Interval of polls while a process writes: 200 a second are a hundredth of a core. */
const POLL_MS = 5

/** Otherwise. Each of these polls also checks that the file is still in place. */
const IDLE_POLL_MS = 100

/** How long a commit may follow the last write to its file: it is visible once the file is on disk. */
const COMMIT_MS = 1000

let store: HistoryStore
let walFile: string
let poll: NodeJS.Timeout | undefined
/** Undefined where writes cannot be noticed. */
let watcher: FSWatcher | undefined

const appends = new AppendQueue((requests) => store.append(requests))

const owner = serveThread<SqliteOwnerMethods, SqliteMethods>({
  open(request) {
    store = openHistoryStore(request)
    walFile = `${request.file}-wal`
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
  unwatch,
  close() {
    appends.commit()
    unwatch()
    store.close()
  },
})

function watch(): undefined {
  let lastVersion = readDataVersion()
  let writtenAt = Number.NEGATIVE_INFINITY
  let checkedAt = Number.NEGATIVE_INFINITY
  const isIdle = () => watcher !== undefined && performance.now() - writtenAt > COMMIT_MS
  const pollIn = (ms: number) => {
    clearTimeout(poll)
    poll = setTimeout(check, ms).unref()
  }
  const check = () => {
    pollIn(isIdle() ? IDLE_POLL_MS : POLL_MS)
    const isFileDue = performance.now() - checkedAt > IDLE_POLL_MS - POLL_MS
    if (isFileDue) checkedAt = performance.now()
    const version = isFileDue && !isFileInPlace() ? undefined : readDataVersion()
    if (version === lastVersion) return
    lastVersion = version
    owner.notify('changed', undefined)
  }
  watcher = watchWrites(() => {
    const wasIdle = isIdle()
    writtenAt = performance.now()
    if (wasIdle) pollIn(POLL_MS)
  })
  pollIn(POLL_MS)
}

/** Calls `onWrite` after each write to the write-ahead log, of any process. Undefined if it cannot. */
function watchWrites(onWrite: () => void): FSWatcher | undefined {
  if (process.platform !== 'linux') return undefined
  const stop = () => {
    watcher?.close()
    watcher = undefined
  }
  try {
    const onEvent = (event: string) => (event === 'change' ? onWrite() : stop())
    return watchFile(walFile, { persistent: false }, onEvent).on('error', stop)
  } catch {
    return undefined
  }
}

function unwatch(): undefined {
  clearTimeout(poll)
  watcher?.close()
  watcher = undefined
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
