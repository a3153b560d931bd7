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
import { keepPorts, type Ports } from './ports.ts'
import { type PrimaryHandlers, startWorkerProcess, type WorkerProcess } from './worker-process.ts'

/** What the primary has for its workers: ports, counts, metrics, a sandbox. */
export interface ClusterServices {
  readonly metrics: ClusterMetrics
  /** Makes everything ready for workers with these settings. Rejects when that cannot be; then all is as it was. */
  prepare(settings: Settings): Promise<void>
  /** Starts a worker. */
  spawnWorker(number: number): WorkerProcess
  /** How long a worker may take to end, in milliseconds; longer for one that lingers, because another takes its place. */
  endLimitMs(lingers: boolean): number
  sandboxUrl(): string | undefined
  close(): Promise<void>
}

/** What a worker may take to end when its connections have: a last snapshot of a large state is the most of it. */
const CLOSING_MS = 30_000

export function createClusterServices(
  members: () => readonly WorkerProcess[],
  logger: Logger,
): ClusterServices {
  const metrics = createClusterMetrics(members)
  const counter = createMemoryCounter(WINDOW_SECONDS)
  let present: Settings | undefined
  let ports: Ports | undefined
  let sandbox: Sandbox | undefined
  let metricsListener: Listener | undefined
  const services = createServices({ members, counter, metrics, releasePorts: () => ports?.release() })

  async function moveMetrics(settings: Settings): Promise<void> {
    const next = placeOf(settings)
    if (present && JSON.stringify(next) === JSON.stringify(placeOf(present))) return
    const former = metricsListener
    metricsListener = next && (await serveMetrics(metrics, next.host, next.port))
    if (metricsListener)
      logger.info({ url: `${metricsListener.url}/metrics` }, 'metrics have an address of their own')
    await former?.stop(0)
  }

  return {
    metrics,
    async prepare(settings) {
      if (present) refuseAnotherLog(present, settings)
      if (needsSandbox(settings)) sandbox ??= await openSandbox()
      await moveMetrics(settings)
      ports = await keepPorts(settings, ports)
      logger.level = settings.log_level
      present = settings
    },
    spawnWorker(number) {
      if (present === undefined || ports === undefined) throw new Error('no worker can start yet')
      const { port, routePort } = ports
      const worker = startWorkerProcess({ number, port, routePort, sandboxUrl: sandbox?.url }, services)
      void worker.ended.then(() => metrics.forget(worker))
      return worker
    },
    endLimitMs: (lingers) => (present?.timeouts.drain_ms ?? 0) * (lingers ? 2 : 1) + CLOSING_MS,
    sandboxUrl: () => (present && needsSandbox(present) ? sandbox?.url : undefined),
    async close() {
      ports?.release()
      await Promise.all([metricsListener?.stop(0), sandbox?.close()])
    },
  }
}

/** Where this process serves the metrics of all, if it does. */
function placeOf(settings: Settings) {
  return settings.plugins.some(({ use }) => use === 'metrics') ? metricsAddress(settings) : undefined
}

/** Workers on two logs would not know of each other's changes, and a change would be in force for some requests only. */
function refuseAnotherLog(before: Settings, after: Settings): void {
  const isSame = before.data_dir === after.data_dir && before.eventstore_url === after.eventstore_url
  if (!isSame)
    throw new Error('data_dir and eventstore_url stay as they were until all is stopped and started')
}

/** Most installations have provider keys and never load it. */
async function openSandbox(): Promise<Sandbox> {
  const { startSandbox } = await import('../../providers/sandbox/server.ts')
  return startSandbox()
}

interface ServiceParts {
  readonly members: () => readonly WorkerProcess[]
  readonly counter: RequestCounter
  readonly metrics: ClusterMetrics
  /** Lets go of the ports that were kept for the workers. */
  readonly releasePorts: () => void
}

/** What the primary does for its workers. */
function createServices(parts: ServiceParts): (worker: WorkerProcess) => PrimaryHandlers {
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
