import { GatewayError, type Model } from '../../core/contract/index.ts'
import { callThread, startThread } from '../../core/threads/thread.ts'
import type { RouterWhatIf } from '../../plugins/learned-routing/schemas.ts'
import type { TrainingJob, TrainingOutcome } from '../../plugins/learned-routing/train.ts'
import type { ModeWeights } from '../../plugins/routing/routing-catalog.ts'
import type { RouterVersion, TrainedModels } from '../../projections/events/routers.ts'
import type { SettingsData } from '../settings/settings.ts'
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

export type RouterMethods = {
  train: { params: TrainingJob; result: TrainingOutcome }
  replay: { params: ReplayJob; result: RouterWhatIf }
}

type Method = keyof RouterMethods

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

export function openRouterThread(settings: SettingsData, logId: string): RouterThread {
  const ledger = toLedgerOptions(settings, logId)
  const closing = new AbortController()
  let queue: Promise<unknown> = Promise.resolve()
  let jobs = 0

  async function execute<Name extends Method>(
    method: Name,
    job: RouterMethods[Name]['params'],
    signal: AbortSignal,
  ): Promise<RouterMethods[Name]['result']> {
    signal.throwIfAborted()
    const worker = startThread('./router-worker', import.meta.url, { name: 'router', workerData: ledger })
    return callThread<RouterMethods, Name>(worker, method, job, { signal })
  }

  async function run<Name extends Method>(
    method: Name,
    job: RouterMethods[Name]['params'],
    signal = closing.signal,
  ): Promise<RouterMethods[Name]['result']> {
    if (jobs === MAX_JOBS) {
      const message = `${MAX_JOBS} trainings and what-ifs run or wait on this node. Try again in a minute.`
      throw new GatewayError('conflict', message, { retryAfter: 60 })
    }
    jobs++
    const result = queue.then(() => execute(method, job, signal))
    queue = result.catch(() => undefined)
    return result.finally(() => jobs--)
  }

  return {
    train: (job) => run('train', job),
    replay: (job, signal) => run('replay', job, AbortSignal.any([signal, closing.signal])),
    async close() {
      closing.abort(new Error('the gateway stops'))
      await queue
    },
  }
}
