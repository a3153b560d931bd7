import type { Logger } from 'pino'
import { Gauge, type Registry } from 'prom-client'
import { withTimeout } from '../../core/threads/timeout.ts'
import { errorMessage, errorName } from '../../core/util/error-message.ts'
import { type CounterSeries, createCounter } from '../../core/util/metrics.ts'
import { BatchEncoder } from './store/batch-encoder.ts'
import type { LedgerCalls, RejectedRecord } from './store/methods.ts'
import { type LedgerRecord, type PromptOmission, type RecordedPrompt, toBareRecord } from './store/record.ts'
import { omitPrompt } from './to-record.ts'

/** Records of one write. */
const MAX_BATCH = 1000

/** Characters of the prompts of one write. Encoding them takes a few milliseconds. */
const MAX_BATCH_CHARS = 1_000_000

/** Characters of prompts that wait. Records beyond it are written without their prompts. */
const MAX_WAITING_CHARS = 16_000_000

/** How long a record waits for others. */
const BATCH_MS = 1000

/** Records that wait for a ledger that is away, about 10 MB. */
const MAX_WAITING = 20_000

/** How long a response waits for its record. A ledger that takes longer counts as away. */
const WRITE_WAIT_MS = 1000

/** The same for the first record, which has to wait until the ledger is open. */
const FIRST_WRITE_WAIT_MS = 5000

const MIN_RETRY_MS = 500
const MAX_RETRY_MS = 10_000

/** How long a shutdown waits for the last records. */
const CLOSE_WAIT_MS = 5000

/**
 * Writes records in batches, one after the other. Records that arrive while a batch is written share the next
 * one. A ledger that is away is tried again and again, while records wait in memory; those beyond a limit are
 * counted as lost. See docs/decisions/ledger.md, "A ledger that is away never holds up traffic".
 */
export class LedgerWriter {
  readonly #ledger: Pick<LedgerCalls, 'write'>
  readonly #logger: Logger
  readonly #onWritten: (requestIds: readonly string[]) => void
  readonly #dropped: (reason: DropReason) => CounterSeries
  readonly #written: CounterSeries
  readonly #prompts: (outcome: PromptOutcome) => CounterSeries
  /** Batches that wait, oldest first. Records are added to the last. */
  #batches: Batch[] = []
  /** Characters of the prompts that wait. */
  #promptChars = 0
  /** Records so far, and those of them that are on disk. The others wait. */
  #added = 0
  #done = 0
  #flushes: PendingFlush[] = []
  /** Requests that wait for their records, which were not rejected yet. */
  readonly #awaited = new Set<string>()
  /** Requests that wait with a record in the place of one that cannot be stored. */
  readonly #bare = new Set<string>()
  #batchTimer: NodeJS.Timeout | undefined
  #retryTimer: NodeJS.Timeout | undefined
  #isWriting = false
  #isAway = false
  #isClosing = false
  #retryMs = MIN_RETRY_MS
  #waitMs = FIRST_WRITE_WAIT_MS

  /** `onWritten` is called with the ids of requests whose records are on disk. */
  constructor(
    ledger: Pick<LedgerCalls, 'write'>,
    logger: Logger,
    metrics: Registry,
    onWritten: (requestIds: readonly string[]) => void = () => undefined,
  ) {
    this.#ledger = ledger
    this.#onWritten = onWritten
    this.#logger = logger
    this.#dropped = createCounter(metrics, {
      name: 'signalbox_ledger_dropped_total',
      help: 'Requests that could not be recorded, by reason: queue_full, rejected (not storable), shutdown.',
      labelNames: ['reason'],
    })
    this.#written = createCounter(metrics, {
      name: 'signalbox_ledger_records_total',
      help: 'Requests that were recorded.',
      labelNames: [],
    })()
    for (const reason of DROP_REASONS) this.#dropped(reason)
    this.#prompts = createCounter(metrics, {
      name: 'signalbox_ledger_prompts_total',
      help: 'Prompts that were recorded, or why not: refused before masking, too long, queue full.',
      labelNames: ['outcome'],
    })
    new Gauge({
      name: 'signalbox_ledger_waiting_records',
      help: 'Requests that are not recorded yet.',
      registers: [metrics],
      collect: gaugeOf(() => this.#waiting),
    })
    new Gauge({
      name: 'signalbox_ledger_up',
      help: '1 if the last write to the request ledger succeeded in time, else 0.',
      registers: [metrics],
      aggregator: 'min',
      collect: gaugeOf(() => (this.#isAway ? 0 : 1)),
    })
  }

  /** Whether the ledger took the last batch in time. */
  get isAvailable(): boolean {
    return !this.#isAway
  }

  get #waiting(): number {
    return this.#added - this.#done
  }

  /** Records a request within a second. Returns false if too many wait. On the hot path. */
  add(record: LedgerRecord): boolean {
    if (this.#waiting >= MAX_WAITING) {
      this.#dropped('queue_full').inc()
      return false
    }
    try {
      this.#encode(record.prompt === null ? record : this.#limitPrompt(record, record.prompt))
    } catch (error) {
      const { requestId } = record
      this.reject({ requestId, reason: errorName(error) }, this.#bare.delete(requestId) ? undefined : record)
      return true
    }
    if (this.#hasFullBatch() && !this.#isAway) this.#writeNext()
    else this.#batchTimer ??= setTimeout(this.#onBatchTime, BATCH_MS).unref()
    return true
  }

  /**
   * Records a request immediately. Resolves with true when it is on disk, with false if it cannot be stored,
   * or if the ledger is away; the record then waits like the others.
   */
  async addNow(record: LedgerRecord): Promise<boolean> {
    const { requestId } = record
    this.#awaited.add(requestId)
    const isFlushed = this.add(record) && (await this.flush())
    return this.#awaited.delete(requestId) && isFlushed
  }

  /**
   * Counts and logs a record that cannot be stored, because of what a plugin made of its request. Only what
   * budgets need of it is recorded.
   */
  reject({ requestId, reason }: RejectedRecord, record?: Parameters<typeof toBareRecord>[0]): void {
    this.#awaited.delete(requestId)
    this.#dropped('rejected').inc()
    this.#logger.error({ requestId, reason }, 'a request cannot be recorded')
    if (record === undefined) return
    this.#bare.add(requestId)
    if (!this.add(toBareRecord(record))) this.#bare.delete(requestId)
  }

  /** Replaces a record that waits, but not its prompt. One that is on disk stays. */
  replace(record: LedgerRecord): void {
    if (this.#bare.has(record.requestId)) return
    for (const { encoder } of this.#batches) {
      const index = encoder.requestIds.indexOf(record.requestId)
      if (index === -1) continue
      encoder.replace(index, { ...record, prompt: encoder.promptAt(index) })
      return
    }
  }

  /** Resolves like `addNow` when all records so far are on disk. */
  async flush(waitMs = this.#waitMs): Promise<boolean> {
    if (this.#waiting === 0) return true
    if (this.#isAway) return false
    const written = new Promise<void>((resolve) => {
      this.#flushes.push({ upTo: this.#added, resolve })
    })
    this.#writeNext()
    try {
      await withTimeout(written, waitMs, () => new Error('it did not answer in time'))
    } catch (error) {
      this.#setAway(errorMessage(error))
      return false
    }
    return !this.#isAway
  }

  /** Writes what waits, as long as the ledger takes it. Nothing may be added afterwards. */
  async close(): Promise<void> {
    this.#isClosing = true
    clearTimeout(this.#batchTimer)
    clearTimeout(this.#retryTimer)
    this.#isAway = false
    const deadline = performance.now() + CLOSE_WAIT_MS
    while (this.#waiting > 0) {
      const left = deadline - performance.now()
      if (left <= 0 || !(await this.flush(left))) break
    }
    const lost = this.#waiting
    if (lost === 0) return
    this.#dropped('shutdown').inc(lost)
    this.#logger.error({ records: lost }, 'request ledger unavailable; records lost')
  }

  readonly #onBatchTime = (): void => {
    this.#batchTimer = undefined
    if (!this.#isAway) this.#writeNext()
  }

  #encode(record: LedgerRecord): void {
    const chars = record.prompt?.chars ?? 0
    const batch = this.#batchFor(chars)
    batch.encoder.add(record)
    batch.promptChars += chars
    this.#promptChars += chars
    this.#added += 1
  }

  #batchFor(chars: number): Batch {
    const last = this.#batches.at(-1)
    const isOpen = last !== undefined && !last.isSent && !isFull(last)
    if (isOpen && (chars === 0 || last.promptChars + chars <= MAX_BATCH_CHARS)) return last
    const batch = { encoder: new BatchEncoder(), promptChars: 0, isSent: false }
    this.#batches.push(batch)
    return batch
  }

  #limitPrompt(record: LedgerRecord, prompt: RecordedPrompt): LedgerRecord {
    const isTooMuch = this.#promptChars + prompt.chars > MAX_WAITING_CHARS
    const kept = isTooMuch ? omitPrompt(prompt.mode, 'queue_full') : prompt
    this.#prompts(kept.omission ?? 'recorded').inc()
    return isTooMuch ? { ...record, prompt: kept } : record
  }

  #hasFullBatch(): boolean {
    const [first] = this.#batches
    return this.#batches.length > 1 || (first !== undefined && isFull(first))
  }

  #writeNext(): void {
    const [batch] = this.#batches
    if (this.#isWriting || batch === undefined) return
    this.#isWriting = true
    batch.isSent = true
    const { requestIds } = batch.encoder
    // It stays in the queue until it is on disk.
    this.#ledger.write(batch.encoder.encode()).then(
      (rejected) => {
        this.#batches.shift()
        this.#promptChars -= batch.promptChars
        this.#done += requestIds.length
        this.#written.inc(requestIds.length - rejected.length)
        this.#onWritten(this.#rejectAll(rejected, batch))
        this.#setAvailable()
        this.#isWriting = false
        this.#endFlushes(this.#done)
        this.#continue()
      },
      (error: unknown) => {
        this.#setAway(errorMessage(error))
        this.#isWriting = false
        this.#endFlushes(this.#added)
        this.#scheduleRetry()
      },
    )
  }

  /** Returns the ids of what is written. Others get another chance, without most of their fields. */
  #rejectAll(rejected: readonly RejectedRecord[], { encoder }: Batch): readonly string[] {
    const { requestIds } = encoder
    if (rejected.length === 0 && this.#bare.size === 0) return requestIds
    const isRejected = new Map(rejected.map((each) => [each.requestId, each]))
    const batch = rejected.length > 0 ? encoder.decode() : undefined
    return requestIds.filter((requestId, index) => {
      const isBare = this.#bare.delete(requestId)
      const found = isRejected.get(requestId)
      if (found !== undefined) this.reject(found, isBare ? undefined : batch?.recordAt(index))
      return found === undefined
    })
  }

  #endFlushes(upTo: number): void {
    const isOver = (flush: PendingFlush) => flush.upTo <= upTo
    for (const { resolve } of this.#flushes.filter(isOver)) resolve()
    this.#flushes = this.#flushes.filter((flush) => !isOver(flush))
  }

  #continue(): void {
    if (this.#flushes.length > 0 || this.#hasFullBatch()) this.#writeNext()
    else if (this.#waiting > 0) this.#batchTimer ??= setTimeout(this.#onBatchTime, BATCH_MS).unref()
  }

  #scheduleRetry(): void {
    if (this.#isClosing) return
    clearTimeout(this.#retryTimer)
    this.#retryTimer = setTimeout(() => this.#writeNext(), this.#retryMs).unref()
    this.#retryMs = Math.min(this.#retryMs * 2, MAX_RETRY_MS)
  }

  #setAway(reason: string): void {
    if (!this.#isAway) this.#logger.error({ reason }, 'request ledger unavailable; records wait in memory')
    this.#isAway = true
  }

  #setAvailable(): void {
    if (this.#isAway) this.#logger.info({ waiting: this.#waiting }, 'request ledger available again')
    this.#isAway = false
    this.#retryMs = MIN_RETRY_MS
    this.#waitMs = WRITE_WAIT_MS
  }
}

/** Records of one write. */
interface Batch {
  readonly encoder: BatchEncoder
  promptChars: number
  /** Nothing may be added: it is written, or was without success. */
  isSent: boolean
}

function isFull({ encoder, promptChars }: Batch): boolean {
  return encoder.count >= MAX_BATCH || promptChars >= MAX_BATCH_CHARS
}

/** A flush that ends when this many records are on disk. */
interface PendingFlush {
  readonly upTo: number
  readonly resolve: () => void
}

const DROP_REASONS = ['queue_full', 'rejected', 'shutdown'] as const

type PromptOutcome = PromptOmission | 'recorded'

type DropReason = (typeof DROP_REASONS)[number]

function gaugeOf(read: () => number) {
  return function collect(this: Gauge): void {
    this.set(read())
  }
}
