import type { Logger } from 'pino'
import type { EventLog, Position } from '../../../core/contract/index.ts'
import { isPluginStream } from '../../../core/events/plugin-events.ts'
import { exponentialBackoff, retry, type Wait } from '../../../core/threads/retry.ts'
import { AutoResetEvent } from '../../../core/util/auto-reset-event.ts'
import { errorMessage } from '../../../core/util/error-message.ts'
import { showLogEntry, toLogEntry } from '../audit-entries.ts'
import type { FindLostRace } from '../lost-races.ts'
import type { PositionFile } from './position-file.ts'
import type { ExportedEntry, ExportTarget } from './targets.ts'

const MAX_BATCH = 100
/** Entries read ahead while the target does not respond. */
const MAX_WAITING = 1000
/** Characters of a batch, and of what is read ahead. One entry may exceed both. */
const MAX_BATCH_CHARACTERS = 1024 * 1024
const MAX_WAITING_CHARACTERS = 4 * 1024 * 1024
const BACKOFF = { firstMs: 200, maxMs: 60_000 }

interface ExporterOptions {
  readonly log: Pick<EventLog, 'subscribe'>
  readonly findLostRace: FindLostRace
  readonly target: ExportTarget
  readonly positions: PositionFile
  readonly logger: Logger
  /** Waits between attempts. Default: a timer. */
  readonly wait?: Wait
}

/**
 * Sends every entry of the audit trail to a target, in log order and at least once, until it is closed. The
 * log is the queue: while the target is away, nothing is lost, and a restart continues behind the last entry
 * that the target has accepted. See docs/decisions/operators.md, "The log is the queue of the export".
 */
export function startAuditExport(options: ExporterOptions): { close(): Promise<void> } {
  const { log, findLostRace, target, positions, logger, wait } = options
  const abort = new AbortController()
  const { signal } = abort
  const waiting: ExportedEntry[] = []
  let waitingCharacters = 0
  const added = new AutoResetEvent()
  const taken = new AutoResetEvent()

  const untilClosed = (run: () => Promise<void>, message: string, backoff = exponentialBackoff(BACKOFF)) =>
    retry(run, {
      backoff,
      signal,
      ...(wait && { wait }),
      shouldRetry: () => !signal.aborted,
      onRetry: (error) => logger.warn({ target: target.name, reason: errorMessage(error) }, message),
    })

  let read: Position = 0
  const readBackoff = exponentialBackoff(BACKOFF)

  async function readEntries(): Promise<void> {
    for await (const item of log.subscribe(read, signal)) {
      readBackoff.reset()
      if (item === 'caught-up') continue
      const entry = isPluginStream(item.stream) ? undefined : toLogEntry(item)
      const noEffect = await findLostRace(item)
      read = item.position
      if (entry === undefined) continue
      const { position, metadata } = item
      const text = JSON.stringify(showLogEntry({ ...entry, noEffect }))
      waiting.push({ position, time: metadata.time, text })
      waitingCharacters += text.length
      added.set()
      while (isFull() && !signal.aborted) await taken.wait()
    }
    if (!signal.aborted) throw new Error('the event log ended the subscription')
  }

  const isFull = () => waiting.length >= MAX_WAITING || waitingCharacters >= MAX_WAITING_CHARACTERS

  async function sendBatch(): Promise<void> {
    const batch = takeBatch(waiting)
    await target.send(batch, signal)
    await positions.write(batch.at(-1)?.position ?? 0)
    waiting.splice(0, batch.length)
    for (const { text } of batch) waitingCharacters -= text.length
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

/** The first entries that make up a batch. */
function takeBatch(waiting: readonly ExportedEntry[]): readonly ExportedEntry[] {
  let characters = 0
  const end = waiting.findIndex(({ text }, index) => {
    characters += text.length
    return index > 0 && (index === MAX_BATCH || characters > MAX_BATCH_CHARACTERS)
  })
  return end < 0 ? waiting.slice() : waiting.slice(0, end)
}
