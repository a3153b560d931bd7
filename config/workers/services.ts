import type { Position } from '../../core/contract/index.ts'
import type { RequestCounter } from '../../plugins/rate-limit/counter.ts'
import { ChannelClosed } from './channel.ts'
import type { CrewMetrics } from './crew-metrics.ts'
import { LIMITS, type PrimaryAsks } from './messages.ts'
import type { Services, WorkerProcess } from './worker-process.ts'

export interface ServiceParts {
  readonly members: () => readonly WorkerProcess[]
  readonly counter: RequestCounter
  readonly metrics: CrewMetrics
  /** Lets go of the ports that were kept for the workers. */
  readonly releasePorts: () => void
}

/** What the primary does for its workers. */
export function createServices(parts: ServiceParts): (worker: WorkerProcess) => Services {
  const { members, counter, metrics, releasePorts } = parts
  const othersThan = (worker: WorkerProcess) =>
    members().filter((member) => member !== worker && member.hasJoined())
  let spreadTo: Position = 0

  return (worker) => ({
    join: () => ({ position: spreadTo }),
    listen() {
      releasePorts()
      return {}
    },
    count: ({ userId }) => counter.count(userId),
    async spread({ position }) {
      spreadTo = Math.max(spreadTo, position)
      await Promise.all(othersThan(worker).map((other) => reach(other, position)))
      return {}
    },
    findRecord: (ask) =>
      findFirst(othersThan(worker).map((other) => other.ask('findRecord', ask, LIMITS.record))),
    metricsPage: async () => ({ page: await metrics.metrics() }),
    leave({ metrics: last }) {
      metrics.keep(worker, last)
      return {}
    },
  })
}

type FoundRecord = PrimaryAsks['findRecord']['answer']

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
    await worker.ask('reach', { position }, LIMITS.spread)
  } catch (error) {
    if (!(error instanceof ChannelClosed)) throw error
  }
}
