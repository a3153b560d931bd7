import { GatewayError, type Model } from '../../core/contract/index.ts'
import type { TrainedModels } from '../../core/events/router-events.ts'
import { startThread } from '../../core/threads/thread.ts'
import type { RouterWhatIf } from '../../plugins/learned-routing/schemas.ts'
import type { TrainingJob, TrainingOutcome } from '../../plugins/learned-routing/trainer.ts'
import type { LedgerOptions } from '../../plugins/ledger/store/methods.ts'
import type { ModeWeights } from '../../plugins/routing/routing-catalog.ts'
import type { RouterVersion } from '../../projections/routers.ts'
import type { Settings } from '../settings/settings.ts'
import { toLedgerOptions } from './ledger.ts'

/** Decides recorded requests again with a version. */
export interface ReplayJob {
  readonly router: RouterVersion
  readonly models: TrainedModels
  readonly featureKeyId: string
  readonly minModelRatings: number
  readonly candidates: readonly Model[]
  readonly weights: ModeWeights
  readonly since: number
  readonly until: number
  readonly limit: number
}

export type RouterJob =
  | { readonly type: 'train'; readonly job: TrainingJob }
  | { readonly type: 'replay'; readonly job: ReplayJob }

export interface RouterWorkerData {
  readonly ledger: LedgerOptions
  readonly task: RouterJob
}

/** What the thread answers with. */
export type RouterMessage = { readonly result: unknown } | { readonly error: string }

/** Jobs that run or wait. More are refused: each takes seconds of a core, and whoever asks waits. */
const MAX_JOBS = 4

/** One job after the other, each in a thread that ends with it. */
export interface RouterThread {
  /** Rejects with 409 if there are too many jobs, as `replay` does. */
  train(job: TrainingJob): Promise<TrainingOutcome>
  /** Ends and rejects when the signal aborts. */
  replay(job: ReplayJob, signal: AbortSignal): Promise<RouterWhatIf>
  /** Ends the job that runs. It rejects then, like those that wait. */
  close(): Promise<void>
}

export function openRouterThread(settings: Omit<Settings, 'rereadModels'>, logId: string): RouterThread {
  const ledger = toLedgerOptions(settings, logId)
  let stop: () => Promise<unknown> = async () => undefined
  let queue: Promise<unknown> = Promise.resolve()
  let jobs = 0
  let isClosed = false

  async function execute(task: RouterJob, signal?: AbortSignal): Promise<unknown> {
    if (isClosed) throw new Error('the gateway stops')
    signal?.throwIfAborted()
    const workerData: RouterWorkerData = { ledger, task }
    const worker = startThread('./router-worker', import.meta.url, { name: 'router', workerData })
    const end = () => worker.terminate()
    stop = end
    signal?.addEventListener('abort', end, { once: true })
    try {
      const message = await new Promise<RouterMessage>((resolve, reject) => {
        worker.once('message', resolve)
        worker.once('error', reject)
        worker.once('exit', () => reject(new Error('the job was stopped')))
      })
      if ('error' in message) throw new Error(message.error)
      return message.result
    } catch (error) {
      signal?.throwIfAborted()
      throw error
    } finally {
      signal?.removeEventListener('abort', end)
      await worker.terminate()
    }
  }

  async function run(task: RouterJob, signal?: AbortSignal): Promise<unknown> {
    if (jobs === MAX_JOBS) {
      const message = `${MAX_JOBS} trainings and what-ifs run or wait on this node. Try again in a minute.`
      throw new GatewayError('conflict', message, { retryAfter: 60 })
    }
    jobs++
    const result = queue.then(() => execute(task, signal))
    queue = result.catch(() => undefined)
    return result.finally(() => jobs--)
  }

  return {
    // The worker answers each type of job with its result.
    train: (job) => run({ type: 'train', job }) as Promise<TrainingOutcome>,
    replay: (job, signal) => run({ type: 'replay', job }, signal) as Promise<RouterWhatIf>,
    async close() {
      isClosed = true
      await stop()
    },
  }
}
