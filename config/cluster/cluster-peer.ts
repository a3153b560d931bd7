import type { Position } from '../../core/contract/index.ts'
import { coalesceMax } from '../../core/process/coalesce-max.ts'
import { createRpcPeer, type RpcTransport } from '../../core/process/rpc.ts'
import type { MetricsPage } from '../../plugins/metrics/endpoint.ts'
import type { RequestCounter } from '../../plugins/rate-limit/counter.ts'
import type { SharedRecords } from '../../plugins/trace/request-record.ts'
import {
  type Metrics,
  type PrimaryMethods,
  RPC_TIMEOUTS_MS,
  type ServingAddresses,
  type WorkerMethods,
} from './messages.ts'
import type { WorkerEnv } from './worker-env.ts'

/** The other workers, as one of them meets them through the primary. */
export interface ClusterPeer {
  readonly sandboxUrl: string | undefined
  /** One of them does it for all. */
  readonly takesSnapshots: boolean
  readonly counter: RequestCounter
  readonly records: SharedRecords
  /** The page with the metrics of all. */
  metricsPage(contentType: MetricsPage['contentType']): MetricsPage
  /** Resolves when all of them show what is in the log up to the position. */
  broadcastPosition(position: Position): Promise<void>
  /** Becomes one of them: lends what they ask for, and resolves when this one shows all that they show. */
  register(lent: WorkerHandlers): Promise<void>
  /** The ports are about to be listened on. */
  takePorts(): Promise<void>
}

/** What a worker does for the others. */
interface WorkerHandlers {
  /** Resolves when it shows what is in the log up to the position. */
  reach(position: Position): Promise<void>
  metrics(): Promise<Metrics>
}

/** A worker's ties to the primary. */
export interface PrimaryConnection extends ClusterPeer {
  /** Resolves when another worker is in the place of this one. */
  readonly retired: Promise<void>
  /** Tells that this one serves. */
  serve(service: ServingAddresses): Promise<void>
  /** Tells that this one cannot start, and why. */
  refuse(reason: string): Promise<void>
  /** Tells the last metrics. */
  leave(): Promise<void>
}

export function connectToPrimary(wire: RpcTransport, { number, sandboxUrl }: WorkerEnv): PrimaryConnection {
  let lent: WorkerHandlers = { reach: async () => undefined, metrics: async () => [] }
  let findHere: Parameters<SharedRecords['offer']>[0] = () => undefined
  let retire: () => void = () => undefined
  const retired = new Promise<void>((resolve) => {
    retire = resolve
  })
  const { request } = createRpcPeer<PrimaryMethods, WorkerMethods>(wire, {
    async catchUpTo({ position }) {
      await lent.reach(position)
      return {}
    },
    findRecord({ requestId }) {
      const record = findHere(requestId)
      return record ? { record } : {}
    },
    metrics: async () => ({ metrics: await lent.metrics() }),
    drain() {
      retire()
      return {}
    },
  })
  const spread = coalesceMax((position) =>
    request('broadcastPosition', { position }, RPC_TIMEOUTS_MS.catchUp),
  )

  return {
    sandboxUrl,
    takesSnapshots: number === 1,
    counter: {
      count: (userId) => request('count', { userId }, RPC_TIMEOUTS_MS.count),
      close: async () => undefined,
    },
    records: {
      find: async (requestId) => (await request('findRecord', { requestId }, RPC_TIMEOUTS_MS.record)).record,
      offer(find) {
        findHere = find
      },
    },
    metricsPage: (contentType) => ({
      contentType,
      metrics: async () => (await request('metricsPage', {}, RPC_TIMEOUTS_MS.page)).page,
    }),
    broadcastPosition: async (position) => void (await spread(position)),
    async register(own) {
      lent = own
      const { position } = await request('register', {}, RPC_TIMEOUTS_MS.notice)
      await own.reach(position)
    },
    takePorts: async () => void (await request('listen', {}, RPC_TIMEOUTS_MS.notice)),
    retired,
    serve: async (service) => void (await request('ready', service, RPC_TIMEOUTS_MS.notice)),
    refuse: async (reason) => void (await request('startFailed', { reason }, RPC_TIMEOUTS_MS.notice)),
    leave: async () =>
      void (await request('unregister', { metrics: await lent.metrics() }, RPC_TIMEOUTS_MS.notice)),
  }
}
