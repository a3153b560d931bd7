import { AggregatorRegistry, Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client'
import type { MetricsPage } from '../../plugins/metrics/endpoint.ts'
import { type Metrics, RPC_TIMEOUTS_MS } from './messages.ts'
import { WORKER_STATES, type WorkerProcess } from './worker-process.ts'

/** The metrics of all workers as one page. */
export interface ClusterMetrics extends MetricsPage {
  /** Keeps the last metrics of a worker that is about to end. */
  keep(worker: WorkerProcess, metrics: Metrics): void
  /** What a worker counted goes on counting when it has ended. */
  forget(worker: WorkerProcess): void
  noteRestart(reason: 'died' | 'renewed'): void
}

export function createClusterMetrics(members: () => readonly WorkerProcess[]): ClusterMetrics {
  const own = new Registry()
  const restarts = showWorkers(own, members)
  collectDefaultMetrics({ register: own })

  /** The last that is known of each worker that lives. */
  const latest = new Map<WorkerProcess, Metrics>()
  let ended: Metrics = []

  async function ask(worker: WorkerProcess): Promise<void> {
    // Of one that does not answer, the last that is known is shown.
    const answer = await worker.request('metrics', {}, RPC_TIMEOUTS_MS.metrics).catch(() => undefined)
    if (answer !== undefined && members().includes(worker)) latest.set(worker, answer.metrics)
  }

  return {
    contentType: own.contentType,
    async metrics() {
      // One that is still starting would let the page wait, and has nothing to tell.
      await Promise.all(
        members()
          .filter((worker) => worker.isRegistered())
          .map(ask),
      )
      const ofPrimary = (await own.getMetricsAsJSON()).filter(({ name }) => !name.startsWith('nodejs_'))
      return sum([ofPrimary.map(first), ended, ...latest.values()]).metrics()
    },
    keep: (worker, metrics) => void latest.set(worker, metrics),
    forget(worker) {
      const last = latest.get(worker)
      latest.delete(worker)
      if (last === undefined) return
      // The values are there, as in what was summed up; only the type says less.
      ended = sum([ended, last.filter(isCounting)]).getMetricsAsArray() as Metrics
    },
    noteRestart: (reason) => restarts.inc({ reason }),
  }
}

function showWorkers(registry: Registry, members: () => readonly WorkerProcess[]) {
  const registers = [registry]
  new Gauge({
    name: 'signalbox_workers',
    help: 'Worker processes by state.',
    labelNames: ['state'],
    registers,
    collect() {
      for (const state of WORKER_STATES) this.set({ state }, 0)
      for (const worker of members()) this.inc({ state: worker.state() })
    },
  })
  const restarts = new Counter({
    name: 'signalbox_worker_restarts_total',
    help: 'Workers that were replaced, because they died or to be renewed.',
    labelNames: ['reason'],
    registers,
  })
  for (const reason of ['died', 'renewed']) restarts.inc({ reason }, 0)
  return restarts
}

/** Adds metrics up as each says by its `aggregator`. */
function sum(all: readonly Metrics[]): Registry {
  return AggregatorRegistry.aggregate(all.map((metrics) => metrics.map(prepare)))
}

/** JSON has no number that is none. Of delays of the event loop, the mean would hide a worker that hangs behind those that idle. */
function prepare(metric: Metrics[number]): Metrics[number] {
  const values = metric.values.filter(({ value }) => Number.isFinite(value))
  const isDelay = metric.name.startsWith('nodejs_eventloop_lag_')
  return { ...metric, values, ...(isDelay && { aggregator: 'max' }) }
}

/** The start of the program is that of the primary; of the workers, no start is shown. */
function first(metric: Metrics[number]): Metrics[number] {
  return metric.name === 'process_start_time_seconds' ? { ...metric, aggregator: 'first' } : metric
}

function isCounting({ type }: Metrics[number]): boolean {
  // The enumeration of these types is not exported as a value.
  return ['counter', 'histogram', 'summary'].includes(String(type))
}
