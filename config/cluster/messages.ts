import type { Registry } from 'prom-client'
import type { Position } from '../../core/contract/index.ts'
import type { RequestCount } from '../../plugins/rate-limit/counter.ts'
import type { RequestSummary } from '../../plugins/trace/request-record.ts'

/**
 * All that the primary and its workers say to each other. No key, no password and no text of a request is in it: both read the
 * settings by themselves.
 */

/** What a worker asks of the primary. */
export type PrimaryMethods = {
  /** It follows the event log; it may serve once it is as far as the position in the answer. */
  register: { ask: Nothing; answer: { readonly position: Position } }
  /** It is about to listen, on the ports that were kept for it. */
  listen: { ask: Nothing; answer: Nothing }
  /** It serves. */
  ready: { ask: ServingAddresses; answer: Nothing }
  /** It cannot start, for a reason that somebody can mend. */
  startFailed: { ask: { readonly reason: string }; answer: Nothing }
  /** Counts a request of a user, for all workers. */
  count: { ask: { readonly userId: number }; answer: RequestCount }
  /** Answers when every other worker shows what is in the log up to the position. */
  broadcastPosition: { ask: { readonly position: Position }; answer: Nothing }
  /** What another worker knows about a request. */
  findRecord: { ask: RecordAsk; answer: FoundRecord }
  /** The metrics of all, as a page for Prometheus. */
  metricsPage: { ask: Nothing; answer: { readonly page: string } }
  /** It ends, and these are its last metrics. */
  unregister: { ask: { readonly metrics: Metrics }; answer: Nothing }
}

/** What the primary asks of a worker. */
export type WorkerMethods = {
  /** Answers when it shows what is in the log up to the position. */
  catchUpTo: { ask: { readonly position: Position }; answer: Nothing }
  findRecord: { ask: RecordAsk; answer: FoundRecord }
  metrics: { ask: Nothing; answer: { readonly metrics: Metrics } }
  /** Another takes its place: it ends when its connections have. */
  drain: { ask: Nothing; answer: Nothing }
}

type Nothing = Readonly<Record<never, never>>

/** What a worker serves. */
export interface ServingAddresses {
  readonly baseUrl: string
  readonly routeBaseUrl: string
  /** Plugin names in running order. */
  readonly plugins: readonly string[]
}

export type Metrics = Awaited<ReturnType<Registry['getMetricsAsJSON']>>

interface RecordAsk {
  readonly requestId: string
}

interface FoundRecord {
  readonly record?: RequestSummary
}

/** How long an answer may take, in milliseconds. */
export const RPC_TIMEOUTS_MS = {
  count: 1000,
  record: 1000,
  metrics: 2000,
  page: 5000,
  /** As long as a node waits to see its own write. */
  catchUp: 5000,
  /** For what nobody waits for. */
  notice: 10_000,
} as const
