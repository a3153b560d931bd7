import type { Logger } from 'pino'
import type { Position } from '../../core/contract/index.ts'
import type { Listener } from '../../core/http/server/listen.ts'
import { ChannelClosedError } from '../../core/process/rpc.ts'
import { serveMetrics } from '../../plugins/metrics/endpoint.ts'
import { createMemoryCounter, type RequestCounter, WINDOW_SECONDS } from '../../plugins/rate-limit/counter.ts'
import type { Sandbox } from '../../providers/sandbox/server.ts'
import { metricsAddress } from '../settings/metrics-address.ts'
import { needsSandbox, type Settings } from '../settings/settings.ts'
import { type ClusterMetrics, createClusterMetrics } from './aggregate-metrics.ts'
import { type PrimaryMethods, RPC_TIMEOUTS_MS } from './messages.ts'
import { reservePorts, type SharedPorts } from './ports.ts'
import { type PrimaryHandlers, startWorkerProcess, type WorkerProcess } from './worker-process.ts'

/** The resources that the primary shares with its workers: ports, request counts, metrics and a sandbox. */
export interface ClusterServices {
  readonly metrics: ClusterMetrics
  /** Opens what workers with these settings need. If it rejects, the current resources stay. */
  prepare(settings: Settings): Promise<void>
  spawnWorker(number: number): WorkerProcess
  /** Milliseconds that a worker may take to exit. Longer for one that drains while its replacement serves. */
  exitTimeoutMs(isDraining: boolean): number
  sandboxUrl(): string | undefined
  close(): Promise<void>
}

/**
 * What a worker may need to exit after its connections have ended, mostly for the final snapshot of a large
 * state.
 */
const CLOSE_TIMEOUT_MS = 30_000

export function createClusterServices(
  workers: () => readonly WorkerProcess[],
  logger: Logger,
): ClusterServices {
  const metrics = createClusterMetrics(workers)
  const counter = createMemoryCounter(WINDOW_SECONDS)
  let current: Settings | undefined
  let ports: SharedPorts | undefined
  let sandbox: Sandbox | undefined
  let metricsListener: Listener | undefined
  const createHandlers = createPrimaryHandlers({
    workers,
    counter,
    metrics,
    releasePorts: () => ports?.release(),
  })

  async function moveMetricsListener(settings: Settings): Promise<void> {
    const next = metricsListenerAddress(settings)
    if (current && JSON.stringify(next) === JSON.stringify(metricsListenerAddress(current))) return
    const previous = metricsListener
    metricsListener = next && (await serveMetrics(metrics, next.host, next.port))
    if (metricsListener)
      logger.info({ url: `${metricsListener.url}/metrics` }, 'metrics have an address of their own')
    await previous?.stop(0)
  }

  return {
    metrics,
    async prepare(settings) {
      if (current) refuseOtherLog(current, settings)
      if (needsSandbox(settings)) sandbox ??= await openSandbox()
      await moveMetricsListener(settings)
      ports = await reservePorts(settings, ports)
      logger.level = settings.log_level
      current = settings
    },
    spawnWorker(number) {
      if (current === undefined || ports === undefined) throw new Error('prepare must be called first')
      const { port, routePort } = ports
      const worker = startWorkerProcess({ number, port, routePort, sandboxUrl: sandbox?.url }, createHandlers)
      void worker.exited.then(() => metrics.retain(worker))
      return worker
    },
    exitTimeoutMs: (isDraining) =>
      (current?.timeouts.drain_ms ?? 0) * (isDraining ? 2 : 1) + CLOSE_TIMEOUT_MS,
    sandboxUrl: () => (current && needsSandbox(current) ? sandbox?.url : undefined),
    async close() {
      ports?.release()
      await Promise.all([metricsListener?.stop(0), sandbox?.close()])
    },
  }
}

/** The address at which the primary serves the aggregated metrics; undefined when a worker serves them. */
function metricsListenerAddress(settings: Settings) {
  return settings.plugins.some(({ use }) => use === 'metrics') ? metricsAddress(settings) : undefined
}

/**
 * Workers on two event logs would not see each other's changes, so that a change would apply to some requests
 * only.
 */
function refuseOtherLog(before: Settings, after: Settings): void {
  const isSame = before.data_dir === after.data_dir && before.eventstore_url === after.eventstore_url
  if (!isSame)
    throw new Error(
      'data_dir and eventstore_url cannot change in a rolling restart. Stop and start the gateway.',
    )
}

/** Imported on demand: most installations have provider keys and never load the sandbox. */
async function openSandbox(): Promise<Sandbox> {
  const { startSandbox } = await import('../../providers/sandbox/server.ts')
  return startSandbox()
}

interface PrimaryHandlerDeps {
  readonly workers: () => readonly WorkerProcess[]
  readonly counter: RequestCounter
  readonly metrics: ClusterMetrics
  /** Closes the ports that were reserved for the workers. */
  readonly releasePorts: () => void
}

/** The RPC handlers of the primary for one worker. */
function createPrimaryHandlers(deps: PrimaryHandlerDeps): (worker: WorkerProcess) => PrimaryHandlers {
  const { workers, counter, metrics, releasePorts } = deps
  const registeredPeers = (worker: WorkerProcess) =>
    workers().filter((other) => other !== worker && other.isRegistered())
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
      await Promise.all(registeredPeers(worker).map((peer) => catchUp(peer, position)))
      return {}
    },
    findRecord: (query) =>
      findFirst(
        registeredPeers(worker).map((peer) => peer.request('findRecord', query, RPC_TIMEOUTS_MS.record)),
      ),
    metricsPage: async () => ({ page: await metrics.metrics() }),
    unregister({ metrics: final }) {
      metrics.store(worker, final)
      return {}
    },
  })
}

type RecordLookup = PrimaryMethods['findRecord']['result']

/**
 * Resolves with the first hit without waiting for the other workers: at most one of them knows the request.
 */
function findFirst(lookups: readonly Promise<RecordLookup>[]): Promise<RecordLookup> {
  const hits = lookups.map(async (lookup) => {
    if ((await lookup).record === undefined) throw new Error('not found')
    return lookup
  })
  return Promise.any(hits).catch(() => ({}))
}

/** A worker that has exited needs no update. */
async function catchUp(worker: WorkerProcess, position: Position): Promise<void> {
  try {
    await worker.request('catchUpTo', { position }, RPC_TIMEOUTS_MS.catchUp)
  } catch (error) {
    if (!(error instanceof ChannelClosedError)) throw error
  }
}
