import { ChannelClosedError, createRpcPeer, type RpcHandlers, type RpcPeer } from '../../core/threads/rpc.ts'
import type { ServingAddresses } from '../gateway/gateway.ts'
import { type PrimaryMethods, RPC_TIMEOUTS_MS, type WorkerMethods } from './rpc-methods.ts'
import { toWorkerEnv, type WorkerEnv } from './worker-env.ts'
import { WorkerProcess } from './worker-process.ts'

/** The methods of the primary that do not change the state of the worker. */
export type PrimaryHandlers = RpcHandlers<Omit<PrimaryMethods, 'ready' | 'startFailed'>>

/** A worker process of the gateway, connected to the primary by RPC. */
export class ClusterWorker extends WorkerProcess<ServingAddresses> {
  readonly #peer: RpcPeer<WorkerMethods>
  #isRegistered = false

  constructor(
    workerEnv: WorkerEnv,
    createHandlers: (worker: ClusterWorker) => PrimaryHandlers,
    hasOthers: (worker: ClusterWorker) => boolean,
  ) {
    super(workerEnv.number, toWorkerEnv(workerEnv), () => hasOthers(this))
    const handlers = createHandlers(this)
    this.#peer = createRpcPeer<WorkerMethods, PrimaryMethods>(this.transport, {
      ...handlers,
      register: (params) => {
        this.#isRegistered = true
        return handlers.register(params)
      },
      ready: (addresses) => {
        this.markReady(addresses)
        return {}
      },
      startFailed: ({ reason }) => {
        this.markFailed(reason)
        return {}
      },
    })
    void this.exited.then(() => this.#peer.close())
  }

  /** Whether the worker follows the event log and so has to hear of every change. */
  get isRegistered(): boolean {
    return this.#isRegistered
  }

  get request(): RpcPeer<WorkerMethods>['request'] {
    return this.#peer.request
  }

  override drain(): void {
    this.markDraining()
    this.request('drain', {}, RPC_TIMEOUTS_MS.notice).catch((error) => {
      if (!(error instanceof ChannelClosedError)) this.stop()
    })
  }
}
