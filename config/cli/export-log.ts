import { Readable, type Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { EventLog, Position, RecordedEvent } from '../../core/contract/index.ts'
import { ALL_STREAMS, readToEnd } from '../../core/event-log/streams.ts'
import { isBrokenPipe } from './output.ts'

/**
 * Writes every event after a position as a line of JSON, in log order. Ends without an error if the reader
 * closes the pipe. See docs/decisions/event-log.md, "Exports contain key hashes".
 */
export async function exportLog(log: EventLog, from: Position, output: Writable): Promise<void> {
  try {
    await pipeline(Readable.from(formatEvents(log, from)), output, { end: false })
  } catch (error) {
    if (!isBrokenPipe(error)) throw error
  }
}

async function* formatEvents(log: EventLog, from: Position): AsyncGenerator<string> {
  for await (const event of readToEnd(log, from, ALL_STREAMS)) yield `${formatExportedEvent(event)}\n`
}

/** The line of an event, without the line break. */
export function formatExportedEvent(event: RecordedEvent): string {
  const { position, stream, revision, type, data, metadata } = event
  return JSON.stringify({ position, stream, revision, type, data, metadata })
}
