import { parentPort, workerData } from 'node:worker_threads'
import { currentThreadId, lowerThreadPriority } from '../../core/threads/thread-cpu.ts'
import { errorMessage } from '../../core/util/error-message.ts'
import { loadRouter } from '../../plugins/learned-routing/active-routers.ts'
import { trainFromLedger } from '../../plugins/learned-routing/train-from-ledger.ts'
import { type LedgerStore, openLedgerStore } from '../../plugins/ledger/store/store.ts'
import { replayRouter } from '../../plugins/routing/replay-router.ts'
import type { ReplayJob, RouterJob, RouterMessage, RouterWorkerData } from './router-thread.ts'

/** Thread that trains a router, or tries one on recorded requests. Live requests run first. */

const { ledger, task }: RouterWorkerData = workerData
lowerThreadPriority(currentThreadId())

async function run(): Promise<RouterMessage> {
  const store = await openLedgerStore(ledger.location, ledger.logId, { isWriter: false })
  try {
    return { result: await execute(task, store) }
  } finally {
    await store.close()
  }
}

function execute({ type, job }: RouterJob, store: LedgerStore): Promise<unknown> {
  return type === 'train' ? trainFromLedger(job, store) : replay(job, store)
}

function replay(job: ReplayJob, store: LedgerStore) {
  const { router, models, featureKeyId, minModelRatings, ...more } = job
  return replayRouter({ ...more, router: loadRouter(router, models, featureKeyId, minModelRatings) }, store)
}

const message = await run().catch((error: unknown) => ({ error: errorMessage(error) }))
parentPort?.postMessage(message)
