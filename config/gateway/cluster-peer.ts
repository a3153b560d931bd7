import type { Registry } from 'prom-client'
import type { Position } from '../../core/contract/index.ts'
import type { SharedState } from '../../core/shared-state/shared-state.ts'
import type { LedgerCluster } from '../../plugins/ledger/index.ts'
import type { Ledger } from '../../plugins/ledger/store/methods.ts'
import type { MetricsPage } from '../../plugins/metrics/endpoint.ts'
import type { KnownProcess, ProcessFigures } from '../../plugins/overview/node-endpoints.ts'

/** The cluster as one of its workers sees it. All calls go through the primary. */
export interface ClusterPeer {
  /** Address of the sandbox of the primary; undefined when a provider is configured. */
  readonly sandboxUrl: string | undefined
  /** Exactly one worker of the cluster takes snapshots. */
  readonly takesSnapshots: boolean
  /** Kept by the primary: see docs/decisions/cluster.md, "Workers count requests in the primary". */
  readonly sharedState: SharedState
  /**
   * Opens the request ledger, which the primary keeps: see docs/decisions/cluster.md, "The primary writes the
   * request ledger".
   */
  openLedger(logId: string): Promise<Ledger>
  /** The other workers, which may have records that are not written yet. */
  readonly ledgerCluster: LedgerCluster
  /** The aggregated metrics of all workers. */
  metricsPage(contentType: MetricsPage['contentType']): MetricsPage
  /** The processes of the node. */
  listProcesses(): Promise<readonly KnownProcess[]>
  /**
   * Resolves when all other workers have applied all events up to the position, with the numbers of those
   * that hung and were killed. See docs/decisions/cluster.md, "A change is answered when every worker applies
   * it".
   */
  broadcastPosition(position: Position): Promise<readonly number[]>
  /**
   * Joins the cluster. Resolves when this worker has applied all events that the other workers have. See
   * docs/decisions/cluster.md, "A new worker learns how far the others are before it listens".
   */
  register(handlers: WorkerHandlers): Promise<void>
  /** Asks the primary to release the reserved ports, so that this worker can listen on them. */
  takePorts(): Promise<void>
}

/** Implements the methods that the primary calls on a worker. */
export interface WorkerHandlers {
  /** Resolves when this worker has applied all events up to the position. Rejects after `timeoutMs`. */
  catchUpTo(position: Position, timeoutMs: number): Promise<void>
  metrics(): Promise<MetricValues>
  describe(): ProcessFigures
}

export type MetricValues = Awaited<ReturnType<Registry['getMetricsAsJSON']>>
