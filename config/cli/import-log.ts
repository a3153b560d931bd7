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
import { readToEnd } from '../../core/event-log/read-to-end.ts'
import { isExpiring } from '../../core/events/streams.ts'
import { createPluginChecker } from './verify-log.ts'
import { createChecker } from './verify-records.ts'

/** What an import came to: sentences about the file, and how many of its events were there already or are there now. */
interface Import {
  readonly facts: readonly string[]
  readonly before: number
  readonly written: number
}

/**
 * Puts the events of an export into a log, in the same order; their positions may become others. The whole file is checked before
 * anything is written. The log must be empty, or hold the file's first events and nothing else: that is how an import that was
 * interrupted goes on. Events of these plugins are checked by their schemas, too. Up to `together` appends are under way at once: more than one only where the log keeps their order.
 */
export async function importLog(
  log: EventLog,
  file: string,
  together: number,
  listed: readonly Plugin[] = [],
): Promise<Import> {
  const facts = await checkFile(file, listed)
  const events = readExport(file)
  const before = await skipWhatIsThere(log, events)
  let written = 0
  for await (const batch of inBatches(events, together)) {
    await Promise.all(batch.map((event) => append(log, event)))
    written += batch.length
  }
  return { facts, before, written }
}

/** Throws with every fault: a gap, an event in the wrong stream, one that cannot be read. */
async function checkFile(file: string, listed: readonly Plugin[]): Promise<readonly string[]> {
  const checker = createChecker(createPluginChecker(listed).faultOf)
  for await (const event of readExport(file)) checker.check(event)
  const faults = checker.faults()
  if (faults.length > 0)
    throw new Error(`Nothing was imported, for the file is not a whole export:\n${faults.join('\n')}`)
  return checker.facts()
}

/** Gives how many events there are; throws when they are not those that the file begins with. */
async function skipWhatIsThere(log: EventLog, events: AsyncIterator<RecordedEvent>): Promise<number> {
  let count = 0
  for await (const there of readToEnd(log)) {
    const next = await events.next()
    if (next.done || !isSame(there, next.value))
      throw new Error(
        `The log holds what the file does not: event ${there.revision} of ${there.stream}, at position ${there.position}. Import into an empty log.`,
      )
    count += 1
  }
  return count
}

function isSame(
  { position: _, ...there }: RecordedEvent,
  { position: __, ...event }: RecordedEvent,
): boolean {
  return isDeepStrictEqual(there, event)
}

async function* inBatches(events: AsyncIterable<RecordedEvent>, size: number) {
  let batch: RecordedEvent[] = []
  for await (const event of events) {
    batch.push(event)
    if (batch.length < size) continue
    yield batch
    batch = []
  }
  if (batch.length > 0) yield batch
}

async function append(log: EventLog, { stream, revision, type, data, metadata }: RecordedEvent) {
  try {
    await log.append(stream, [{ type, data }], { expectedRevision: revision - 1, metadata })
  } catch (error) {
    if (!WrongExpectedRevisionError.isInstance(error)) throw error
    throw new Error(
      `Somebody else writes to the log (${error.message}): stop every gateway, then import again.`,
    )
  }
}

/** The events of a file as "log export" writes it; throws at a line that is none. */
async function* readExport(file: string): AsyncGenerator<RecordedEvent> {
  let number = 0
  for await (const line of createInterface({ input: createReadStream(file), crlfDelay: Infinity })) {
    number += 1
    const event = readLine(line)
    if (event === undefined)
      throw new Error(`Line ${number} of ${file} is not an event as "log export" writes it.`)
    yield event
  }
}

function readLine(line: string): RecordedEvent | undefined {
  let value: unknown
  try {
    value = JSON.parse(line)
  } catch {
    return undefined
  }
  return isEvent(value) && !isExpiring(value.stream) ? value : undefined
}

function isEvent(value: unknown): value is RecordedEvent {
  if (!isJsonObject(value) || !isJsonObject(value.data) || !isJsonObject(value.metadata)) return false
  const { position, stream, revision, type, metadata } = value
  return (
    Number.isSafeInteger(position) &&
    Number.isSafeInteger(revision) &&
    typeof stream === 'string' &&
    typeof type === 'string' &&
    typeof metadata.actor === 'string' &&
    typeof metadata.time === 'string' &&
    typeof metadata.schema === 'number'
  )
}
