import { workerData } from 'node:worker_threads'
import { serveThread } from '../../core/threads/thread.ts'
import { currentThreadId, lowerThreadPriority } from '../../core/threads/thread-cpu.ts'
import { loadRouter } from '../../plugins/learned-routing/active-routers.ts'
import { trainFromLedger } from '../../plugins/learned-routing/train.ts'
import type { LedgerOptions } from '../../plugins/ledger/store/methods.ts'
import { type LedgerStore, openLedgerStore } from '../../plugins/ledger/store/store.ts'
import { replayRouter } from '../../plugins/routing/replay-router.ts'
import type { RouterMethods } from './router-thread.ts'

/** Thread that trains a router, or tries one on recorded requests. Live requests run first. */

const ledger: LedgerOptions = workerData
lowerThreadPriority(currentThreadId())

serveThread<Record<never, never>, RouterMethods>({
  train: (job) => withStore((store) => trainFromLedger(job, store)),
  replay({ router, models, featureKeyId, minModelRatings, ...more }) {
    const loaded = loadRouter(router, models, featureKeyId, minModelRatings)
    return withStore((store) => replayRouter({ ...more, router: loaded }, store))
  },
})

async function withStore<Result>(use: (store: LedgerStore) => Promise<Result>): Promise<Result> {
  const store = await openLedgerStore(ledger.location, ledger.logId, { isWriter: false })
  try {
    return await use(store)
  } finally {
    await store.close()
  }
}
