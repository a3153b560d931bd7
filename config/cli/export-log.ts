import { Readable, type Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { EventLog, Position } from '../../core/contract/index.ts'
import { readToEnd } from '../../core/event-log/read-to-end.ts'

/** Writes every event after a position as a line of JSON, in log order. A reader who has seen enough may hang up. */
export async function exportLog(log: EventLog, from: Position, output: Writable): Promise<void> {
  try {
    await pipeline(Readable.from(writeLines(log, from)), output, { end: false })
  } catch (error) {
    if (!isHangUp(error)) throw error
  }
}

async function* writeLines(log: EventLog, from: Position): AsyncGenerator<string> {
  for await (const { position, stream, revision, type, data, metadata } of readToEnd(log, from)) {
    yield `${JSON.stringify({ position, stream, revision, type, data, metadata })}\n`
  }
}

function isHangUp(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EPIPE'
}
