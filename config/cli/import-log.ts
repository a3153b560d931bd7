import { isDeepStrictEqual } from 'node:util'
import {
  type EventLog,
  type Plugin,
  type RecordedEvent,
  WrongExpectedRevisionError,
} from '../../core/contract/index.ts'
import { ALL_STREAMS, LOG_STREAM, readToEnd } from '../../core/event-log/streams.ts'
import type { VerifierKey } from '../../core/event-log/transparency/checkpoint.ts'
import { appendLogId, ensureLogId } from '../../core/events/log-events.ts'
import { AutoResetEvent } from '../../core/util/auto-reset-event.ts'
import { createClock } from '../../core/util/clock.ts'
import { checkExport, type ExportCheckOptions, readExport } from './check-export.ts'

interface ImportResult {
  /** Sentences about the content of the file. */
  readonly facts: readonly string[]
  /** The keys of its checkpoints. */
  readonly keys: readonly VerifierKey[]
  /** Events of the file that were in the log before. */
  readonly existing: number
  readonly written: number
}

/**
 * Writes the events of an export into an event log, in the same order; their positions may change. The whole
 * file is checked before anything is written, events of the given plugins by their schemas, too. The log must
 * be empty or hold the first events of the file and nothing else, so that an interrupted import can be
 * continued. Up to `concurrency` appends are in flight at
 * once: more than one only for a log that keeps their order. See docs/decisions/evidence.md, "An import
 * extends the log that was exported".
 */
export async function importLog(
  log: EventLog,
  file: string,
  concurrency: number,
  plugins: readonly Plugin[] = [],
  options?: ExportCheckOptions,
): Promise<ImportResult> {
  const { facts, logId, keys } = await checkExport(file, plugins, options)
  const time = createClock()()
  if (logId === undefined) await ensureLogId(log, time)
  const events = readExport(file)
  const { existing, next, hasOwnId } = await skipExisting(log, events)
  let written = 0
  const window = createWindow(concurrency)
  const write = async (event: RecordedEvent) => {
    if (hasOwnId && logId !== undefined) throw new Error(COMPLETED_WITH_SHORTER_FILE)
    await window.start(() => appendEvent(log, event))
    written += 1
  }
  if (next !== undefined) await write(next)
  for await (const event of events) await write(event)
  await window.finish()
  if (!hasOwnId) await appendLogId(log, time)
  return { facts, keys, existing, written }
}

const COMPLETED_WITH_SHORTER_FILE =
  'The event log holds a completed import of fewer events. Import into an empty event log.'

/** What is left of an export behind the events that are in the log. */
interface RemainingExport {
  /** Events that are in the log. */
  readonly existing: number
  /** An event that was read from the file, and is not in the log. */
  readonly next: RecordedEvent | undefined
  /** The log has an id that is not in the file. */
  readonly hasOwnId: boolean
}

/** Advances past the events that are in the log. Throws if they are not the first of the file. */
async function skipExisting(log: EventLog, events: AsyncIterator<RecordedEvent>): Promise<RemainingExport> {
  let existing = 0
  let hasOwnId = false
  let next: RecordedEvent | undefined
  for await (const stored of readToEnd(log, 0, ALL_STREAMS)) {
    next ??= await readNext(events)
    if (next !== undefined && isSameEvent(stored, next)) {
      next = undefined
      existing += 1
    } else if (stored.stream === LOG_STREAM && !hasOwnId) hasOwnId = true
    else
      throw new Error(
        `The event log holds an event that is not in the file: event ${stored.revision} of ` +
          `${stored.stream}, at position ${stored.position}. Import into an empty event log.`,
      )
  }
  return { existing, next, hasOwnId }
}

async function readNext(events: AsyncIterator<RecordedEvent>): Promise<RecordedEvent | undefined> {
  const { done, value } = await events.next()
  return done ? undefined : value
}

/** Compares everything but the position. */
function isSameEvent(
  { position: _, ...left }: RecordedEvent,
  { position: __, ...right }: RecordedEvent,
): boolean {
  return isDeepStrictEqual(left, right)
}

/** Starts tasks in order, at most `limit` at a time. */
function createWindow(limit: number) {
  const failures: unknown[] = []
  const finished = new AutoResetEvent()
  let running = 0

  async function waitUntilBelow(count: number): Promise<void> {
    while (running >= count && failures.length === 0) await finished.wait()
    if (failures.length > 0) throw failures[0]
  }
  return {
    /** Waits until a task can start, and starts it. Throws once a task has failed. */
    async start(task: () => Promise<void>): Promise<void> {
      // Half of the tasks at a time: waiting for each of them would take longer than the task.
      if (running >= limit) await waitUntilBelow(limit / 2)
      running += 1
      task()
        .catch((error) => failures.push(error))
        .finally(() => {
          running -= 1
          finished.set()
        })
    },
    /** Waits for all tasks. */
    finish: () => waitUntilBelow(1),
  }
}

async function appendEvent(log: EventLog, { stream, revision, type, data, metadata }: RecordedEvent) {
  try {
    await log.append(stream, [{ type, data }], { expectedRevision: revision - 1, metadata })
  } catch (error) {
    if (!WrongExpectedRevisionError.isInstance(error)) throw error
    throw new Error(
      `Another process is writing to the event log (${error.message}). Stop all gateways and import again.`,
    )
  }
}
