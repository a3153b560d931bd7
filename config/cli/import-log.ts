import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { isDeepStrictEqual } from 'node:util'
import {
  type EventLog,
  isJsonObject,
  type Plugin,
  type RecordedEvent,
  WrongExpectedRevisionError,
} from '../../core/contract/index.ts'
import { isEventMetadata } from '../../core/event-log/actor.ts'
import { readToEnd } from '../../core/event-log/read-to-end.ts'
import { LOG_STREAM } from '../../core/event-log/streams.ts'
import { ensureLogId } from '../../core/events/log-identity.ts'
import { isExpiring } from '../../core/events/streams.ts'
import { AutoResetEvent } from '../../core/util/auto-reset-event.ts'
import { createClock } from '../../core/util/clock.ts'
import { parseJson } from '../../core/util/json.ts'
import { createPluginChecker } from './verify-log.ts'
import { createRecordChecker } from './verify-records.ts'

interface ImportResult {
  /** Sentences about the content of the file. */
  readonly facts: readonly string[]
  /** Events of the file that were in the log before. */
  readonly existing: number
  readonly written: number
}

/**
 * Writes the events of an export into an event log, in the same order; their positions may change. The whole
 * file is checked before anything is written, events of the given plugins by their schemas, too. The log must
 * be empty or hold the first events of the file and nothing else, so that an interrupted import can be
 * continued. Up to `concurrency` appends are in flight at once: more than one only for a log that keeps their
 * order.
 */
export async function importLog(
  log: EventLog,
  file: string,
  concurrency: number,
  plugins: readonly Plugin[] = [],
): Promise<ImportResult> {
  const facts = await checkFile(file, plugins)
  await ensureLogId(log, createClock()())
  const events = withoutIdentity(readExport(file))
  const existing = await skipExisting(log, events)
  let written = 0
  const window = createWindow(concurrency)
  for await (const event of events) {
    await window.start(() => appendEvent(log, event))
    written += 1
  }
  await window.finish()
  return { facts, existing, written }
}

/** The log gets an id of its own: it is another one than that of the export. */
async function* withoutIdentity(events: AsyncIterable<RecordedEvent>): AsyncGenerator<RecordedEvent> {
  for await (const event of events) if (event.stream !== LOG_STREAM) yield event
}

/** Throws with all issues, such as a gap, an event in the wrong stream, or one that cannot be read. */
async function checkFile(file: string, plugins: readonly Plugin[]): Promise<readonly string[]> {
  const checker = createRecordChecker(createPluginChecker(plugins).findIssue)
  for await (const event of readExport(file)) checker.check(event)
  const issues = checker.issues()
  if (issues.length > 0)
    throw new Error(`Nothing was imported, because the file is not a complete export:\n${issues.join('\n')}`)
  return checker.facts()
}

/**
 * Advances past the events that are in the log and returns their number. Throws if they are not the first of
 * the file.
 */
async function skipExisting(log: EventLog, events: AsyncIterator<RecordedEvent>): Promise<number> {
  let count = 0
  for await (const existing of withoutIdentity(readToEnd(log))) {
    const next = await events.next()
    if (next.done || !isSameEvent(existing, next.value))
      throw new Error(
        `The event log holds an event that is not in the file: event ${existing.revision} of ` +
          `${existing.stream}, at position ${existing.position}. Import into an empty event log.`,
      )
    count += 1
  }
  return count
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

/**
 * Yields the events of a file written by "log export". Throws at the first line that is not such an event.
 */
async function* readExport(file: string): AsyncGenerator<RecordedEvent> {
  let number = 0
  for await (const line of createInterface({ input: createReadStream(file), crlfDelay: Infinity })) {
    number += 1
    const event = parseExportedEvent(line)
    if (event === undefined)
      throw new Error(`Line ${number} of ${file} is not an event in the format of "signalbox log export".`)
    yield event
  }
}

/** Returns undefined for a line that is not an exported event. */
function parseExportedEvent(line: string): RecordedEvent | undefined {
  const value = parseJson(line)
  return isRecordedEvent(value) && !isExpiring(value.stream) ? value : undefined
}

function isRecordedEvent(value: unknown): value is RecordedEvent {
  if (!isJsonObject(value) || !isJsonObject(value.data) || !isJsonObject(value.metadata)) return false
  const { position, stream, revision, type, metadata } = value
  return (
    Number.isSafeInteger(position) &&
    Number.isSafeInteger(revision) &&
    typeof stream === 'string' &&
    typeof type === 'string' &&
    isEventMetadata(metadata)
  )
}
