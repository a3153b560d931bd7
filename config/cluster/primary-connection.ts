import { createRemoteSharedState } from '../../core/shared-state/over-rpc.ts'
import { createRpcPeer, type RpcTransport } from '../../core/threads/rpc.ts'
import { createLedgerCalls } from '../../plugins/ledger/store/methods.ts'
import type { ClusterPeer, WorkerHandlers } from '../gateway/cluster-peer.ts'
import { describeProcess } from '../gateway/describe-process.ts'
import type { ServingAddresses } from '../gateway/gateway.ts'
import { coalesceMax } from './coalesce-max.ts'
import { LEADER, type PrimaryMethods, RPC_TIMEOUTS_MS, type WorkerMethods } from './rpc-methods.ts'
import type { WorkerEnv } from './worker-env.ts'

/** The connection of a worker to its primary. */
export interface PrimaryConnection extends ClusterPeer {
  /** Resolves when the primary asks this worker to drain, because a replacement serves. */
  readonly drainRequested: Promise<void>
  /** Resolves when the primary has responded. */
  ping(timeoutMs: number): Promise<unknown>
  /** Reports that this worker serves. */
  reportReady(addresses: ServingAddresses): Promise<void>
  /** Reports that this worker cannot start. */
  reportStartFailed(reason: string): Promise<void>
  /** Reports the final metrics before this worker exits. */
  unregister(): Promise<void>
}

export function connectToPrimary(
  transport: RpcTransport,
  { number, sandboxUrl }: WorkerEnv,
): PrimaryConnection {
  let handlers: WorkerHandlers = {
    catchUpTo: async () => undefined,
    metrics: async () => [],
    describe: describeProcess,
  }
  let flushLedger: () => Promise<unknown> = async () => undefined
  let requestDrain: () => void = () => undefined
  const drainRequested = new Promise<void>((resolve) => {
    requestDrain = resolve
  })
  const { request } = createRpcPeer<PrimaryMethods, WorkerMethods>(transport, {
    async catchUpTo({ position }) {
      await handlers.catchUpTo(position, RPC_TIMEOUTS_MS.catchUp)
      return {}
    },
    async flushLedger() {
      await flushLedger()
      return {}
    },
    metrics: async () => ({ metrics: await handlers.metrics() }),
    describe: () => ({ figures: handlers.describe() }),
    heartbeat: () => ({}),
    drain() {
      requestDrain()
      return {}
    },
  })
  const broadcast = coalesceMax((position) =>
    request('broadcastPosition', { position }, RPC_TIMEOUTS_MS.broadcast),
  )

  return {
    sandboxUrl,
    takesSnapshots: number === LEADER,
    sharedState: createRemoteSharedState(request, RPC_TIMEOUTS_MS.sharedState),
    async openLedger(logId) {
      await request('openLedger', { logId }, RPC_TIMEOUTS_MS.notice)
      const call = createLedgerCalls((method, params, timeoutMs) =>
        request('ledger', { method, params }, timeoutMs),
      )
      return { ...call, close: async () => undefined }
    },
    ledgerCluster: {
      flushLedgers: async () => void (await request('flushLedgers', {}, RPC_TIMEOUTS_MS.flush * 2)),
      onFlushLedger(flush) {
        flushLedger = flush
      },
    },
    metricsPage: (contentType) => ({
      contentType,
      metrics: async () => (await request('metricsPage', {}, RPC_TIMEOUTS_MS.page)).page,
    }),
    listProcesses: async () => (await request('listProcesses', {}, RPC_TIMEOUTS_MS.page)).processes,
    broadcastPosition: async (position) => (await broadcast(position)).replaced,
    async register(own) {
      handlers = own
      const { position } = await request('register', {}, RPC_TIMEOUTS_MS.notice)
      await own.catchUpTo(position, RPC_TIMEOUTS_MS.catchUp)
    },
    takePorts: async () => void (await request('listen', {}, RPC_TIMEOUTS_MS.notice)),
    drainRequested,
    ping: (timeoutMs) => request('heartbeat', {}, timeoutMs),
    reportReady: async (addresses) => void (await request('ready', addresses, RPC_TIMEOUTS_MS.notice)),
    reportStartFailed: async (reason) =>
      void (await request('startFailed', { reason }, RPC_TIMEOUTS_MS.notice)),
    unregister: async () =>
      void (await request('unregister', { metrics: await handlers.metrics() }, RPC_TIMEOUTS_MS.notice)),
  }
}
