import { connectThread, type RpcThread, startThread } from '../../core/threads/thread.ts'
import { errorMessage } from '../../core/util/error-message.ts'
import type { TracingOptions } from './options.ts'
import type { TraceRecord } from './request-trace.ts'

export interface ExportWorkerData {
  readonly options: TracingOptions
  readonly version: string
}

/** `records`: of the type `TraceRecord`, as JSON: cheaper to hand over than objects. */
export type ExportWorkerMethods = {
  export: { params: { readonly records: readonly string[] }; result: Record<never, never> }
  stop: { params: Record<never, never>; result: Record<never, never> }
}

/** What the thread reports after each batch. `error` is missing if the collector has taken it. */
export interface ExportReport {
  readonly spans: number
  readonly error?: string
}

export type TraceExporterMethods = {
  exported: { params: ExportReport; result: Record<never, never> }
}

/** Records of one message to the thread, and how long the first of them waits for others. */
const MAX_BATCH = 64
const MAX_BATCH_MS = 100

/** Records that the thread has not taken yet. Further ones are dropped. */
const MAX_UNTAKEN = 2048

const TAKE_TIMEOUT_MS = 30_000
const STOP_TIMEOUT_MS = 5000

/** A thread that ended, for example because it cannot start, is replaced at most this often. */
const RESTART_INTERVAL_MS = 10_000

/** Hands sampled traces to a thread that sends them to the collector. The thread starts with the exporter. */
export class TraceExporter {
  readonly #data: ExportWorkerData
  readonly #onExported: (report: ExportReport) => void
  #waiting: string[] = []
  #waitingSpans = 0
  #untaken = 0
  #timer: NodeJS.Timeout | undefined
  #thread: RpcThread<ExportWorkerMethods> | undefined
  #startedAt = 0

  constructor(data: ExportWorkerData, onExported: (report: ExportReport) => void) {
    this.#data = data
    this.#onExported = onExported
    this.#thread = this.#start()
  }

  add(record: TraceRecord): void {
    const spans = 1 + record.phases.length + record.calls.length
    if (this.#untaken + this.#waiting.length >= MAX_UNTAKEN) {
      this.#onExported({ spans, error: 'too many spans wait to be sent' })
      return
    }
    this.#waiting.push(JSON.stringify(record))
    this.#waitingSpans += spans
    if (this.#waiting.length >= MAX_BATCH) void this.#send()
    else this.#timer ??= setTimeout(() => void this.#send(), MAX_BATCH_MS).unref()
  }

  /** Sends what waits, as long as the thread and the collector take it in time. */
  async stop(): Promise<void> {
    // The thread handles messages in their order, so `stop` does not have to wait for the answer.
    const sent = this.#send()
    const thread = this.#thread
    await thread?.peer.request('stop', {}, STOP_TIMEOUT_MS).catch(() => undefined)
    await thread?.terminate()
    await sent
  }

  async #send(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const records = this.#waiting
    const spans = this.#waitingSpans
    if (records.length === 0) return
    this.#waiting = []
    this.#waitingSpans = 0
    if (!this.#thread?.isAlive()) {
      if (performance.now() - this.#startedAt < RESTART_INTERVAL_MS) {
        this.#onExported({ spans, error: 'the thread that sends spans has ended' })
        return
      }
      this.#thread = this.#start()
    }
    this.#untaken += records.length
    try {
      await this.#thread.peer.request('export', { records }, TAKE_TIMEOUT_MS)
    } catch (error) {
      this.#onExported({ spans, error: errorMessage(error) })
    }
    this.#untaken -= records.length
  }

  #start() {
    this.#startedAt = performance.now()
    const worker = startThread('./export-worker', import.meta.url, {
      name: 'trace-exporter',
      workerData: this.#data,
    })
    return connectThread<ExportWorkerMethods, TraceExporterMethods>(worker, {
      exported: (report) => {
        this.#onExported(report)
        return {}
      },
    })
  }
}
