import type { Position } from '../../core/contract/index.ts'
import type { RequestCounter } from '../../plugins/rate-limit/counter.ts'
import { ChannelClosedError } from './channel.ts'
import type { ClusterMetrics } from './crew-metrics.ts'
import { type PrimaryMethods, RPC_TIMEOUTS_MS } from './messages.ts'
import type { PrimaryHandlers, WorkerProcess } from './worker-process.ts'

export interface ServiceParts {
  readonly members: () => readonly WorkerProcess[]
  readonly counter: RequestCounter
  readonly metrics: ClusterMetrics
  /** Lets go of the ports that were kept for the workers. */
  readonly releasePorts: () => void
}

/** What the primary does for its workers. */
export function createServices(parts: ServiceParts): (worker: WorkerProcess) => PrimaryHandlers {
  const { members, counter, metrics, releasePorts } = parts
  const othersThan = (worker: WorkerProcess) =>
    members().filter((member) => member !== worker && member.isRegistered())
  let lastPosition: Position = 0

  return (worker) => ({
    register: () => ({ position: lastPosition }),
    listen() {
      releasePorts()
      return {}
    },
    count: ({ userId }) => counter.count(userId),
    async broadcastPosition({ position }) {
      lastPosition = Math.max(lastPosition, position)
      await Promise.all(othersThan(worker).map((other) => reach(other, position)))
      return {}
    },
    findRecord: (ask) =>
      findFirst(othersThan(worker).map((other) => other.request('findRecord', ask, RPC_TIMEOUTS_MS.record))),
    metricsPage: async () => ({ page: await metrics.metrics() }),
    unregister({ metrics: last }) {
      metrics.keep(worker, last)
      return {}
    },
  })
}

type FoundRecord = PrimaryMethods['findRecord']['answer']

/** At most one of them knows it; nobody waits for the others then. */
function findFirst(answers: readonly Promise<FoundRecord>[]): Promise<FoundRecord> {
  const found = answers.map(async (answer) => {
    if ((await answer).record === undefined) throw new Error('it does not know the request')
    return answer
  })
  return Promise.any(found).catch(() => ({}))
}

/** One that has ended obeys nothing old any more. */
async function reach(worker: WorkerProcess, position: Position): Promise<void> {
  try {
    await worker.request('catchUpTo', { position }, RPC_TIMEOUTS_MS.catchUp)
  } catch (error) {
    if (!(error instanceof ChannelClosedError)) throw error
  }
}
