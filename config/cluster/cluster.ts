import type { Logger } from 'pino'
import { EventLogReplacedError, type Position } from '../../core/contract/index.ts'
import { createMemorySharedState } from '../../core/shared-state/memory.ts'
import { serveSharedState } from '../../core/shared-state/over-rpc.ts'
import { ChannelClosedError } from '../../core/threads/rpc.ts'
import { callLedger } from '../../plugins/ledger/store/methods.ts'
import type { KnownProcess } from '../../plugins/overview/node-endpoints.ts'
import { describeProcess } from '../gateway/describe-process.ts'
import { EXIT_EVENT_LOG_REPLACED } from '../gateway/exit-codes.ts'
import type { ServingAddresses } from '../gateway/gateway.ts'
import { needsSandbox, type Settings } from '../settings/settings.ts'
import { createClusterMetrics } from './aggregate-metrics.ts'
import { ClusterWorker, type PrimaryHandlers } from './cluster-worker.ts'
import { LEADER, RPC_TIMEOUTS_MS } from './rpc-methods.ts'
import { SharedResources } from './shared-resources.ts'
import { Standby } from './standby.ts'
import { watchHeartbeat } from './watch-heartbeat.ts'
import type { WorkerProcess } from './worker-process.ts'
import { WorkerSlot } from './worker-slot.ts'

/**
 * What a worker may need to exit after `timeouts.drain_ms`: for the last records of interrupted requests, and
 * for the final snapshot of a large state. With the default, a stop fits into the 45 s of the units in
 * `config/deploy`.
 */
const CLOSE_TIMEOUT_MS = 13_000

/**
 * The primary of several worker processes: starts, replaces and stops them, and serves the calls that they
 * make.
 */
export class Cluster {
  /** Rejects when no worker serves and none can start. */
  readonly failed: Promise<never>
  readonly #logger: Logger
  readonly #workers = new Set<ClusterWorker>()
  readonly #slots = new Map<number, WorkerSlot<ServingAddresses>>()
  readonly #stopping = new AbortController()
  /** Workers that were killed because they missed their heartbeats. */
  readonly #hung = new WeakSet<ClusterWorker>()
  readonly #metrics = createClusterMetrics(() => [...this.#workers])
  readonly #sharedState = createMemorySharedState()
  readonly #resources: SharedResources
  readonly #standby: Standby
  #settings: Settings | undefined
  #hasStarted = false
  #lastPosition: Position = 0
  #fail: (error: Error) => void = () => undefined

  constructor(logger: Logger) {
    this.#logger = logger
    this.#resources = new SharedResources(this.#metrics, logger)
    this.#standby = new Standby(logger)
    this.failed = new Promise<never>((_, reject) => {
      this.#fail = reject
    })
    this.failed.catch(() => undefined)
  }

  /** Undefined when a provider is configured. */
  get sandboxUrl(): string | undefined {
    return this.#settings && needsSandbox(this.#settings) ? this.#resources.sandboxUrl : undefined
  }

  get isStopping(): boolean {
    return this.#stopping.signal.aborted
  }

  /** Opens what workers with these settings need. If it rejects, the workers keep their settings. */
  async prepare(settings: Settings): Promise<void> {
    if (this.#settings) refuseOtherLog(this.#settings, settings)
    await this.#resources.prepare(settings)
    this.#logger.level = settings.log_level
    this.#settings = settings
  }

  /**
   * Starts this many workers. Resolves when all of them serve. Rejects with a `StartupError` if one cannot
   * start.
   */
  async start(count: number): Promise<ServingAddresses> {
    // The first worker starts alone: invalid settings are reported once, and only one worker creates the demo
    // user.
    const addresses = await this.#createSlot(1).start()
    await Promise.all(range(2, count).map((number) => this.#createSlot(number).start()))
    this.#hasStarted = true
    return addresses
  }

  /**
   * Replaces one worker after the other by workers with these settings and adjusts their number. Rejects if
   * the settings cannot be applied or a worker cannot start; the workers that were not replaced yet stay.
   */
  async restart(settings: Settings): Promise<void> {
    await this.prepare(settings)
    const count = settings.workers
    this.#logger.info({ workers: count }, 'rolling restart started')
    for (const number of range(1, count)) {
      this.#stopping.signal.throwIfAborted()
      const slot = this.#slots.get(number)
      await (slot ?? this.#createSlot(number)).restart()
      if (slot) this.#metrics.countRestart('restarted')
    }
    for (const [number, slot] of this.#slots) {
      if (number <= count) continue
      this.#slots.delete(number)
      await slot.drain()
    }
    this.#logger.info('rolling restart completed')
  }

  /** Stops all workers once their requests in flight have finished. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    for (const slot of this.#slots.values()) slot.close()
    const remaining = [...this.#workers]
    for (const worker of remaining) worker.stop()
    await Promise.all([this.#standby.close(), ...remaining.map((worker) => this.#terminate(worker, false))])
    await this.#resources.close()
  }

  #createSlot(number: number): WorkerSlot<ServingAddresses> {
    this.#stopping.signal.throwIfAborted()
    const slot = new WorkerSlot({
      number,
      spawn: (number) => this.#spawn(number),
      terminate: (worker, isDraining) => this.#terminate(worker, isDraining),
      isLastServing: () => !this.#hasStarted || !this.#isServing(),
      fail: this.#fail,
      onExit: () => this.#metrics.countRestart('exited'),
      logger: this.#logger,
    })
    this.#slots.set(number, slot)
    return slot
  }

  #spawn(number: number): ClusterWorker {
    const { ports, sandboxUrl } = this.#resources
    const workerEnv = { number, port: ports.port, routePort: ports.routePort, sandboxUrl }
    const worker = new ClusterWorker(
      workerEnv,
      (worker) => this.#createHandlers(worker),
      (worker) => this.#isServing(worker),
    )
    this.#workers.add(worker)
    void worker.exited.then((exit) => {
      this.#workers.delete(worker)
      this.#metrics.retain(worker)
      if (this.#hasStarted && !this.isStopping && !this.#isServing())
        this.#standby.open(this.#resources.ports)
      // A replacement on the new log could not work beside workers with the state of the old one.
      if (exit === `exit code ${EXIT_EVENT_LOG_REPLACED}`)
        this.#fail(new EventLogReplacedError('a worker found another one'))
    })
    worker.ready.then(
      () => {
        this.#logger.info({ worker: number, pid: worker.pid }, 'worker ready')
        this.#watchHeartbeat(worker)
      },
      () => undefined,
    )
    return worker
  }

  /**
   * Kills a worker that serves and misses its heartbeats; its slot replaces it. See
   * docs/decisions/cluster.md, "A worker that hangs is killed".
   */
  #watchHeartbeat(worker: ClusterWorker): void {
    const timeoutMs = this.#settings?.timeouts.heartbeat_ms ?? 0
    const { number, pid } = worker
    const stop = watchHeartbeat({
      timeoutMs,
      ping: () => worker.request('heartbeat', {}, timeoutMs),
      onMissed: () => {
        if (worker.state !== 'serving') return
        this.#logger.error({ worker: number, pid, timeoutMs }, 'worker missed its heartbeats; killing it')
        this.#hung.add(worker)
        worker.kill()
      },
    })
    void worker.exited.then(stop)
  }

  /** Resolves when the worker has exited. Kills it after a timeout, which is longer for one that drains. */
  async #terminate(worker: WorkerProcess<ServingAddresses>, isDraining: boolean): Promise<void> {
    const drainMs = this.#settings?.timeouts.drain_ms ?? 0
    const timer = setTimeout(
      () => {
        this.#logger.error(
          { worker: worker.number, pid: worker.pid },
          'worker did not exit in time; killing it',
        )
        worker.kill()
      },
      drainMs * (isDraining ? 2 : 1) + CLOSE_TIMEOUT_MS,
    )
    await worker.exited
    clearTimeout(timer)
  }

  /** The calls that a worker can make. */
  #createHandlers(worker: ClusterWorker): PrimaryHandlers {
    return {
      ...serveSharedState(this.#sharedState),
      heartbeat: () => ({}),
      register: () => ({ position: this.#lastPosition }),
      listen: async () => {
        this.#resources.ports.release()
        await this.#standby.close()
        return {}
      },
      broadcastPosition: async ({ position }) => {
        this.#lastPosition = Math.max(this.#lastPosition, position)
        const peers = this.#registeredPeers(worker)
        await Promise.all(peers.map((peer) => catchUp(peer, position)))
        return { replaced: peers.filter((peer) => this.#hung.has(peer)).map(({ number }) => number) }
      },
      ledger: (call) => callLedger(this.#resources.ledger, call),
      openLedger: ({ logId }) => {
        this.#resources.openLedger(logId)
        return {}
      },
      flushLedgers: async () => {
        const peers = this.#registeredPeers(worker)
        await Promise.allSettled(peers.map((peer) => peer.request('flushLedger', {}, RPC_TIMEOUTS_MS.flush)))
        return {}
      },
      metricsPage: async () => ({ page: await this.#metrics.metrics() }),
      listProcesses: async () => ({ processes: await this.#listProcesses() }),
      unregister: ({ metrics }) => {
        this.#metrics.store(worker, metrics)
        return {}
      },
    }
  }

  async #listProcesses(): Promise<readonly KnownProcess[]> {
    const workers = [...this.#workers].sort((a, b) => a.number - b.number)
    const described = workers.map(async (worker): Promise<KnownProcess> => {
      const { number, state } = worker
      // A worker that is still starting would delay the others.
      const answer = worker.isRegistered
        ? await worker.request('describe', {}, RPC_TIMEOUTS_MS.metrics).catch(() => undefined)
        : undefined
      return { role: 'worker', number, state, is_leader: number === LEADER, figures: answer?.figures }
    })
    const state = this.isStopping ? 'draining' : 'serving'
    const primary = { role: 'primary', number: null, state, is_leader: false } as const
    return [{ ...primary, figures: describeProcess() }, ...(await Promise.all(described))]
  }

  /** Whether a worker serves, other than the given one. */
  #isServing(except?: ClusterWorker): boolean {
    return [...this.#workers].some((worker) => worker !== except && worker.state === 'serving')
  }

  #registeredPeers(worker: ClusterWorker): readonly ClusterWorker[] {
    return [...this.#workers].filter((other) => other !== worker && other.isRegistered)
  }
}

/**
 * Workers on two event logs would not see each other's changes, so that a change would apply to some requests
 * only.
 */
function refuseOtherLog(current: Settings, next: Settings): void {
  const fixed = ['data_dir', 'eventstore_url', 'ledger_url'] as const
  if (fixed.every((setting) => current[setting] === next[setting])) return
  throw new Error(
    'data_dir, eventstore_url and ledger_url cannot change in a rolling restart. Stop and start the gateway.',
  )
}

/** A worker that has exited needs no update. */
async function catchUp(worker: ClusterWorker, position: Position): Promise<void> {
  try {
    await worker.request('catchUpTo', { position }, RPC_TIMEOUTS_MS.catchUp)
  } catch (error) {
    if (!(error instanceof ChannelClosedError)) throw error
  }
}

function range(from: number, to: number): readonly number[] {
  return Array.from({ length: Math.max(to - from + 1, 0) }, (_, index) => from + index)
}
