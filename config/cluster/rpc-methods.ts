import type { Position } from '../../core/contract/index.ts'
import type { SharedStateMethods } from '../../core/shared-state/over-rpc.ts'
import type { LedgerCall } from '../../plugins/ledger/store/methods.ts'
import type { KnownProcess, ProcessFigures } from '../../plugins/overview/node-endpoints.ts'
import type { MetricValues } from '../gateway/cluster-peer.ts'
import type { ServingAddresses } from '../gateway/gateway.ts'

// The RPC methods of the primary and of its workers. No message carries a key or a password: every process
// reads the settings itself. See docs/decisions/cluster.md, "Settings are never sent between processes". The
// text of a request is sent only in records that a plugin stores.

/** Methods of the primary, called by workers. */
export type PrimaryMethods = SharedStateMethods & {
  /**
   * The worker follows the event log. It may serve once it has applied all events up to the returned
   * position.
   */
  register: { params: Empty; result: { readonly position: Position } }
  /** Resolves immediately, unless the primary hangs. */
  heartbeat: { params: Empty; result: Empty }
  /** The worker is about to listen on the ports, which the primary releases. */
  listen: { params: Empty; result: Empty }
  /** The worker serves. */
  ready: { params: ServingAddresses; result: Empty }
  /** The worker cannot start, for a reason that the operator can fix. */
  startFailed: { params: { readonly reason: string }; result: Empty }
  /**
   * Resolves when every other worker has applied all events up to the position, with the numbers of those
   * that were killed meanwhile because they hung.
   */
  broadcastPosition: {
    params: { readonly position: Position }
    result: { readonly replaced: readonly number[] }
  }
  /** Opens the request ledger of the event log, which is not awaited. */
  openLedger: { params: { readonly logId: string }; result: Empty }
  /** Calls a method of the request ledger. */
  ledger: { params: LedgerCall; result: unknown }
  /** Resolves when the other workers have written their records of requests. */
  flushLedgers: { params: Empty; result: Empty }
  /** The metrics of all workers in the text format of Prometheus. */
  metricsPage: { params: Empty; result: { readonly page: string } }
  /** The primary and all workers. */
  listProcesses: { params: Empty; result: { readonly processes: readonly KnownProcess[] } }
  /** The worker is about to exit and reports its final metrics. */
  unregister: { params: { readonly metrics: MetricValues }; result: Empty }
}

/** Methods of a worker, called by the primary. */
export type WorkerMethods = {
  /** Resolves when the worker has applied all events up to the position. */
  catchUpTo: { params: { readonly position: Position }; result: Empty }
  /** Resolves when the worker has written its records of requests. */
  flushLedger: { params: Empty; result: Empty }
  metrics: { params: Empty; result: { readonly metrics: MetricValues } }
  describe: { params: Empty; result: { readonly figures: ProcessFigures } }
  /** Resolves immediately, unless the worker hangs. */
  heartbeat: { params: Empty; result: Empty }
  /** A replacement serves: the worker finishes its connections and exits. */
  drain: { params: Empty; result: Empty }
}

/** The number of the worker that does what only one of a node does. */
export const LEADER = 1

type Empty = Readonly<Record<never, never>>

/** Timeouts of RPC calls in milliseconds. */
export const RPC_TIMEOUTS_MS = {
  sharedState: 1000,
  /** A worker waits less for the ledger itself. */
  flush: 1500,
  metrics: 2000,
  page: 5000,
  /** Longer than a worker may miss heartbeats: a change waits until a hung worker has been killed. */
  catchUp: 8000,
  /** Shorter than a change may take. */
  broadcast: 8500,
  /** For notifications, which no request waits for. */
  notice: 10_000,
} as const
