import type { Logger } from 'pino'
import type { EventLog, Position } from '../../../core/contract/index.ts'
import { isPluginStream } from '../../../core/events/plugin-events.ts'
import { exponentialBackoff, retry } from '../../../core/process/retry.ts'
import { AutoResetEvent } from '../../../core/util/auto-reset-event.ts'
import { errorMessage } from '../../../core/util/error-message.ts'
import { showLogEntry, toLogEntry } from '../log-entries.ts'
import type { PositionFile } from './position-file.ts'
import type { ExportedEntry, ExportTarget } from './targets.ts'

const MAX_BATCH = 100
/** Entries read ahead while the target does not respond. */
const MAX_WAITING = 1000
const BACKOFF = { firstMs: 200, maxMs: 60_000 }

interface ExporterOptions {
  readonly log: Pick<EventLog, 'subscribe'>
  readonly target: ExportTarget
  readonly positions: PositionFile
  readonly logger: Logger
}

/**
 * Sends every entry of the audit trail to a target, in log order and at least once, until it is closed. The
 * log is the queue: while the target is away, nothing is lost, and a restart continues behind the last entry
 * that the target has accepted. See docs/decisions/operators.md, "The log is the queue of the export".
 */
export function startAuditExport(options: ExporterOptions): { close(): Promise<void> } {
  const { log, target, positions, logger } = options
  const abort = new AbortController()
  const { signal } = abort
  const waiting: ExportedEntry[] = []
  const added = new AutoResetEvent()
  const taken = new AutoResetEvent()

  const untilClosed = (run: () => Promise<void>, message: string, backoff = exponentialBackoff(BACKOFF)) =>
    retry(run, {
      backoff,
      signal,
      shouldRetry: () => !signal.aborted,
      onRetry: (error) => logger.warn({ target: target.name, reason: errorMessage(error) }, message),
    })

  let read: Position = 0
  const readBackoff = exponentialBackoff(BACKOFF)

  async function readEntries(): Promise<void> {
    for await (const item of log.subscribe(read, signal)) {
      readBackoff.reset()
      if (item === 'caught-up') continue
      read = item.position
      const entry = isPluginStream(item.stream) ? undefined : toLogEntry(item)
      if (entry === undefined) continue
      const { position, metadata } = item
      waiting.push({ ...showLogEntry(entry), position, time: metadata.time })
      added.set()
      while (waiting.length >= MAX_WAITING && !signal.aborted) await taken.wait()
    }
    if (!signal.aborted) throw new Error('the event log ended the subscription')
  }

  async function sendBatch(): Promise<void> {
    const batch = waiting.slice(0, MAX_BATCH)
    await target.send(batch, signal)
    await positions.write(batch.at(-1)?.position ?? 0)
    waiting.splice(0, batch.length)
    taken.set()
  }

  async function sendEntries(): Promise<void> {
    while (!signal.aborted) {
      if (waiting.length === 0) await added.wait()
      else await untilClosed(sendBatch, 'audit export failed; retrying')
    }
  }

  async function run(): Promise<void> {
    await untilClosed(async () => {
      read = await positions.read()
    }, 'position of the audit export cannot be read; retrying')
    const reading = untilClosed(readEntries, 'audit export cannot read the log; retrying', readBackoff)
    await Promise.all([reading, sendEntries()])
  }

  const running = run().catch((error) => {
    if (!signal.aborted) logger.error({ err: error }, 'audit export ended')
  })
  return {
    async close() {
      abort.abort()
      added.set()
      taken.set()
      await running
    },
  }
}
