import type { Position } from '../../core/contract/index.ts'
import type { MetricsPage } from '../../plugins/metrics/endpoint.ts'
import type { RequestCounter } from '../../plugins/rate-limit/counter.ts'
import type { SharedRecords } from '../../plugins/trace/shared-records.ts'
import type { Assignment } from './assignment.ts'
import { openChannel, type Wire } from './channel.ts'
import { inWaves } from './in-waves.ts'
import { LIMITS, type Metrics, type PrimaryAsks, type Service, type WorkerAsks } from './messages.ts'

/** The other workers, as one of them meets them through the primary. */
export interface Colleagues {
  readonly sandboxUrl: string | undefined
  /** One of them does it for all. */
  readonly takesSnapshots: boolean
  readonly counter: RequestCounter
  readonly records: SharedRecords
  /** The page with the metrics of all. */
  metricsPage(contentType: MetricsPage['contentType']): MetricsPage
  /** Resolves when all of them show what is in the log up to the position. */
  spread(position: Position): Promise<void>
  /** Becomes one of them: lends what they ask for, and resolves when this one shows all that they show. */
  join(lent: Lent): Promise<void>
  /** The ports are about to be listened on. */
  takePorts(): Promise<void>
}

/** What a worker does for the others. */
export interface Lent {
  /** Resolves when it shows what is in the log up to the position. */
  reach(position: Position): Promise<void>
  metrics(): Promise<Metrics>
}

/** A worker's ties to the primary. */
export interface Ties extends Colleagues {
  /** Resolves when another worker is in the place of this one. */
  readonly retired: Promise<void>
  /** Tells that this one serves. */
  serve(service: Service): Promise<void>
  /** Tells that this one cannot start, and why. */
  refuse(reason: string): Promise<void>
  /** Tells the last metrics. */
  leave(): Promise<void>
}

export function tieToPrimary(wire: Wire, { number, sandboxUrl }: Assignment): Ties {
  let lent: Lent = { reach: async () => undefined, metrics: async () => [] }
  let findHere: Parameters<SharedRecords['offer']>[0] = () => undefined
  let retire: () => void = () => undefined
  const retired = new Promise<void>((resolve) => {
    retire = resolve
  })
  const { ask } = openChannel<PrimaryAsks, WorkerAsks>(wire, {
    async reach({ position }) {
      await lent.reach(position)
      return {}
    },
    findRecord({ requestId }) {
      const record = findHere(requestId)
      return record ? { record } : {}
    },
    metrics: async () => ({ metrics: await lent.metrics() }),
    retire() {
      retire()
      return {}
    },
  })
  const spread = inWaves((position) => ask('spread', { position }, LIMITS.spread))

  return {
    sandboxUrl,
    takesSnapshots: number === 1,
    counter: {
      count: (userId) => ask('count', { userId }, LIMITS.count),
      close: async () => undefined,
    },
    records: {
      find: async (requestId) => (await ask('findRecord', { requestId }, LIMITS.record)).record,
      offer(find) {
        findHere = find
      },
    },
    metricsPage: (contentType) => ({
      contentType,
      metrics: async () => (await ask('metricsPage', {}, LIMITS.page)).page,
    }),
    spread: async (position) => void (await spread(position)),
    async join(own) {
      lent = own
      const { position } = await ask('join', {}, LIMITS.notice)
      await own.reach(position)
    },
    takePorts: async () => void (await ask('listen', {}, LIMITS.notice)),
    retired,
    serve: async (service) => void (await ask('ready', service, LIMITS.notice)),
    refuse: async (reason) => void (await ask('refuse', { reason }, LIMITS.notice)),
    leave: async () => void (await ask('leave', { metrics: await lent.metrics() }, LIMITS.notice)),
  }
}
