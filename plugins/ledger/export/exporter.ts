import { nanoid } from 'nanoid'
import type { Logger } from 'pino'
import { exponentialBackoff, retry, type Wait } from '../../../core/threads/retry.ts'
import { untilAborted, withTimeout } from '../../../core/threads/timeout.ts'
import { errorMessage } from '../../../core/util/error-message.ts'
import type { ExportState, NumberedRecord } from '../store/export-queue.ts'
import type { LedgerCalls } from '../store/methods.ts'
import type { ExportedPage, ExportedRecord, ExportTarget } from './target.ts'

/** Records that are read from the ledger at once. Converting them takes a few milliseconds. */
const READ_RECORDS = 200

/** How often the ledger is asked for new records. */
const POLL_MS = 1000

const BACKOFF = { firstMs: 500, maxMs: 60_000 }

/** How long a process that ends waits until others can take its targets over. */
const RELEASE_MS = 2000

export interface ExporterOptions {
  readonly name: string
  readonly target: ExportTarget
  readonly pageRecords: number
  readonly pageSeconds: number
  /** A process that ends without a word is replaced after this time. */
  readonly leaseMs: number
  readonly ledger: Pick<LedgerCalls, 'claimExport' | 'saveExport' | 'readExport'>
  readonly toExported: (record: NumberedRecord) => ExportedRecord
  /** Removes secrets. */
  readonly redact: (text: string) => string
  readonly logger: Logger
  readonly count: (outcome: ExportOutcome, records: number) => void
  /** Waits between attempts. Default: a timer. */
  readonly wait?: Wait
}

/** `missed`: deleted by the retention before they were sent. `failed` counts attempts. */
export type ExportOutcome = 'exported' | 'refused' | 'missed' | 'failed'

export interface Exporter {
  /** How far the target is; undefined until the ledger has said so. */
  state(): ExportState | undefined
  close(): Promise<void>
}

/**
 * Sends records to a target, in the order in which they were written and at least once, while no other
 * process does. The ledger is the queue. See docs/decisions/ledger-export.md, "The ledger is the queue".
 */
export function startExporter(options: ExporterOptions): Exporter {
  const { name, target, pageRecords, pageSeconds, leaseMs, ledger, redact, logger, count, wait } = options
  const owner = nanoid()
  const closing = new AbortController()
  const { signal } = closing
  let state: ExportState | undefined
  const backoff = exponentialBackoff(BACKOFF)

  async function claim(): Promise<ExportState> {
    state = await ledger.claimExport({ name, owner, leaseMs, pageSize: pageRecords })
    return state
  }

  const save = (position: number, pending: number | null) =>
    ledger.saveExport({ name, owner, position, pending })

  function createPage(position: number, last: number): ExportedPage & { readonly seen: () => number } {
    let seen = 0
    return {
      ...{ first: position + 1, last },
      seen: () => seen,
      async *read() {
        seen = 0
        for (let after = position; after < last; ) {
          signal.throwIfAborted()
          const page = await ledger.readExport({ after, upTo: last, limit: READ_RECORDS })
          if (page.next === after) return
          after = page.next
          seen += page.records.length
          if (page.records.length > 0) yield page.records.map(options.toExported)
        }
      },
    }
  }

  /**
   * Keeps the lease while a page is sent. Aborts if another process has the target. See
   * docs/decisions/ledger-export.md, "One process sends to a target".
   */
  function keepLease(lost: AbortController): () => void {
    const renew = async () => {
      const { isOwner } = await claim()
      if (!isOwner) lost.abort(new Error('another process exports'))
    }
    // A ledger that is away says nothing about the owner.
    const timer = setInterval(() => void renew().catch(() => undefined), leaseMs / 3).unref()
    return () => clearInterval(timer)
  }

  /** See docs/decisions/ledger-export.md, "A refusal is not skipped". */
  async function sendPage(position: number, last: number): Promise<void> {
    const lost = new AbortController()
    const either = AbortSignal.any([signal, lost.signal])
    const stop = keepLease(lost)
    const page = createPage(position, last)
    try {
      const refused = await retry(() => untilAborted(target.send(page, either), either), {
        backoff,
        signal: either,
        ...(wait && { wait }),
        onRetry(error) {
          count('failed', 1)
          const reason = redact(errorMessage(error))
          logger.warn({ target: name, reason }, 'ledger export failed; retrying')
        },
      })
      backoff.reset()
      if (!(await save(last, null))) return
      count('exported', page.seen() - refused)
      count('missed', last - position - page.seen())
      count('refused', refused)
      if (refused > 0) logger.error({ target: name, records: refused }, 'ledger export: records refused')
    } catch (error) {
      if (!either.aborted) throw error
    } finally {
      stop()
    }
  }

  /** Sends the next page, and returns how long to wait before the one after it. */
  async function sendNext(): Promise<number> {
    const { isOwner, position, pending, last, pageEnd, oldest } = await claim()
    if (!isOwner) return Math.min(leaseMs / 3, POLL_MS * 5)
    if (pending !== null) {
      await sendPage(position, pending)
      return 0
    }
    const isDue = last - position >= pageRecords || (oldest ?? Infinity) <= Date.now() - pageSeconds * 1000
    if (pageEnd === position || !isDue) return POLL_MS
    // See docs/decisions/ledger-export.md, "A page is the same when it is sent again".
    if (await save(position, pageEnd)) await sendPage(position, pageEnd)
    return 0
  }

  const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms).unref())

  async function run(): Promise<void> {
    const unavailable = exponentialBackoff(BACKOFF)
    while (!signal.aborted) {
      let waitMs: number
      try {
        waitMs = await sendNext()
        unavailable.reset()
      } catch (error) {
        if (signal.aborted) return
        const reason = redact(errorMessage(error))
        logger.warn({ target: name, reason }, 'ledger export cannot read the ledger; retrying')
        waitMs = unavailable.nextMs()
      }
      if (waitMs > 0) await untilAborted(pause(waitMs), signal).catch(() => undefined)
    }
  }

  const running = run()

  return {
    state: () => state,
    async close() {
      closing.abort(new Error('the gateway stops'))
      await running
      const release = ledger.claimExport({ name, owner, leaseMs: 0, pageSize: 1 })
      await withTimeout(release, RELEASE_MS, () => new Error('the ledger does not answer')).catch(
        () => undefined,
      )
      await target.close()
    },
  }
}
