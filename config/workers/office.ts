import type { Logger } from 'pino'
import type { Listener } from '../../core/http/serve.ts'
import { serveMetrics } from '../../plugins/metrics/endpoint.ts'
import { createMemoryCounter } from '../../plugins/rate-limit/memory-counter.ts'
import { WINDOW_SECONDS } from '../../plugins/rate-limit/window.ts'
import type { Sandbox } from '../../providers/sandbox/server.ts'
import { metricsAddress } from '../metrics-address.ts'
import { needsSandbox, type Settings } from '../settings.ts'
import { type ClusterMetrics, createClusterMetrics } from './crew-metrics.ts'
import { keepPorts, type Ports } from './ports.ts'
import { createServices } from './services.ts'
import { startWorkerProcess, type WorkerProcess } from './worker-process.ts'

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

/** Most installations have vendor keys and never load it. */
async function openSandbox(): Promise<Sandbox> {
  const { startSandbox } = await import('../../providers/sandbox/server.ts')
  return startSandbox()
}
