import { AggregatorRegistry, Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client'
import type { MetricsPage } from '../../plugins/metrics/endpoint.ts'
import type { MetricValues } from '../gateway/cluster-peer.ts'
import { registerLogMetrics } from '../gateway/log-metrics.ts'
import type { ClusterWorker } from './cluster-worker.ts'
import { RPC_TIMEOUTS_MS } from './rpc-methods.ts'
import { WORKER_STATES } from './worker-process.ts'

/** Why a worker was replaced: its process exited, or a rolling restart. */
type RestartReason = 'exited' | 'restarted'

const RESTART_REASONS: readonly RestartReason[] = ['exited', 'restarted']

/** The metrics of the primary and all workers as one page. */
interface ClusterMetrics extends MetricsPage {
  /** Stores the final metrics of a worker that is about to exit. */
  store(worker: ClusterWorker, metrics: MetricValues): void
  /** Drops the gauges of a worker that exited and keeps its counts, so that no counter goes down. */
  retain(worker: ClusterWorker): void
  countRestart(reason: RestartReason): void
}

/**
 * Creates the metrics of the primary and of all workers. See docs/decisions/cluster.md, "Counters of exited
 * workers are added to those of live ones".
 */
export function createClusterMetrics(workers: () => readonly ClusterWorker[]): ClusterMetrics {
  const primary = new Registry()
  const restarts = registerWorkerMetrics(primary, workers)
  collectDefaultMetrics({ register: primary })
  registerLogMetrics(primary)

  /** The most recent metrics of each living worker. */
  const latest = new Map<ClusterWorker, MetricValues>()
  /** The summed counts of all workers that have exited. */
  let exited: MetricValues = []

  /** On failure the previous metrics of the worker stay. */
  async function refresh(worker: ClusterWorker): Promise<void> {
    const response = await worker.request('metrics', {}, RPC_TIMEOUTS_MS.metrics).catch(() => undefined)
    if (response !== undefined && workers().includes(worker)) latest.set(worker, response.metrics)
  }

  return {
    contentType: primary.contentType,
    async metrics() {
      // A worker that is still starting has no metrics yet and would delay the page.
      await Promise.all(
        workers()
          .filter((worker) => worker.isRegistered)
          .map(refresh),
      )
      const own = (await primary.getMetricsAsJSON()).filter(({ name }) => !name.startsWith('nodejs_'))
      return aggregate([own.map(keepFirstStartTime), exited, ...latest.values()]).metrics()
    },
    store: (worker, metrics) => void latest.set(worker, metrics),
    retain(worker) {
      const final = latest.get(worker)
      latest.delete(worker)
      if (final === undefined) return
      // prom-client declares a narrower type here, but the values are those of `getMetricsAsJSON`.
      exited = aggregate([exited, final.filter(isCumulative)]).getMetricsAsArray() as MetricValues
    },
    countRestart: (reason) => restarts.inc({ reason }),
  }
}

function registerWorkerMetrics(registry: Registry, workers: () => readonly ClusterWorker[]): Counter {
  const registers = [registry]
  new Gauge({
    name: 'signalbox_workers',
    help: 'Worker processes by state.',
    labelNames: ['state'],
    registers,
    collect() {
      for (const state of WORKER_STATES) this.set({ state }, 0)
      for (const worker of workers()) this.inc({ state: worker.state })
    },
  })
  const restarts = new Counter({
    name: 'signalbox_worker_restarts_total',
    help: 'Worker processes that were replaced, by reason: the process exited, or a rolling restart.',
    labelNames: ['reason'],
    registers,
  })
  for (const reason of RESTART_REASONS) restarts.inc({ reason }, 0)
  return restarts
}

/** Aggregates each metric by its `aggregator`, which is a sum by default. */
function aggregate(all: readonly MetricValues[]): Registry {
  return AggregatorRegistry.aggregate(all.map((metrics) => metrics.map(toAggregable)))
}

/**
 * Drops NaN, which JSON turns into null. The event loop delay is aggregated as a maximum, because a mean
 * would hide one blocked worker among idle ones.
 */
function toAggregable(metric: MetricValues[number]): MetricValues[number] {
  const values = metric.values.filter(({ value }) => Number.isFinite(value))
  const isDelay = metric.name.startsWith('nodejs_eventloop_lag_')
  return { ...metric, values, ...(isDelay && { aggregator: 'max' }) }
}

/**
 * The start time of the cluster is that of the primary, which comes first. By default prom-client omits the
 * start time from aggregates.
 */
function keepFirstStartTime(metric: MetricValues[number]): MetricValues[number] {
  return metric.name === 'process_start_time_seconds' ? { ...metric, aggregator: 'first' } : metric
}

function isCumulative({ type }: MetricValues[number]): boolean {
  // prom-client declares the enum `MetricType` but does not export it as a value.
  return ['counter', 'histogram', 'summary'].includes(String(type))
}
