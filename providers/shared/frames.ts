import { StringDecoder } from 'node:string_decoder'
import type { ReplyEvent } from '../../core/contract/chat.ts'
import { GatewayError } from '../../core/contract/errors.ts'
import type { FrameReader, ProviderAdapter, SseEvent, StreamReader } from '../../core/contract/provider.ts'
import { malformedRecordError } from './errors.ts'
import { createSseReader, MAX_RECORD_CHARS, RECORD_END, recordTooLongError, type SseReader } from './sse.ts'
import type { RunReader } from './text-run.ts'

/** Reads the body of one stream, and adds the events of its records to a batch. */
export interface BodyReader {
  /** Throws a `GatewayError` if these bytes cannot be read, after it has added the events before. */
  read(bytes: Uint8Array, batch: ReplyEvent[]): void
  end(batch: ReplyEvent[]): void
}

export function createBodyReader(frames: ProviderAdapter['frames'], reader: StreamReader): BodyReader {
  if (frames === undefined || frames === 'sse') return createSseBodyReader(reader)
  const framed = frames === 'ndjson' ? createLineReader() : frames.createReader()
  const addAll = (readFrames: () => readonly SseEvent[], batch: ReplyEvent[]) => {
    for (const record of tryRead(readFrames)) batch.push(...reader.read(record))
  }
  return {
    read: (bytes, batch) => addAll(() => framed.read(bytes), batch),
    end(batch) {
      addAll(() => framed.end(), batch)
      batch.push(...reader.end())
    },
  }
}

function createSseBodyReader(reader: StreamReader): BodyReader {
  const sse = createSseReader()
  return {
    read: (bytes, batch) => readEvents(sse.decode(bytes), sse, reader, batch),
    end(batch) {
      for (const event of sse.end()) batch.push(...reader.read(event))
      batch.push(...reader.end())
    },
  }
}

/** Adds the events of a text to a batch. Records that the reader does not have to parse are not parsed. */
export function readEvents(body: string, sse: SseReader, reader: RunReader, batch: ReplyEvent[]): void {
  let start = 0
  while (start < body.length) {
    const run = sse.isBetweenRecords ? reader.readRun?.(body, start, sse.isAscii) : undefined
    if (run === undefined) {
      const end = reader.readRun === undefined ? body.length : endOfRecord(body, start)
      for (const event of sse.parse(body.slice(start, end))) batch.push(...reader.read(event))
      start = end
    } else {
      batch.push(run.event)
      start = run.end
    }
  }
}

/** Returns the position after the record, or after the text if it does not end there. */
function endOfRecord(body: string, start: number): number {
  const index = body.indexOf(RECORD_END, start)
  return index === -1 ? body.length : index + RECORD_END.length
}

function tryRead(readFrames: () => readonly SseEvent[]): readonly SseEvent[] {
  try {
    return [...readFrames()]
  } catch (error) {
    throw GatewayError.isInstance(error) ? error : malformedRecordError()
  }
}

/** NDJSON: each line is a record. */
function createLineReader(): FrameReader {
  const decoder = new StringDecoder('utf8')
  let rest = ''
  const toRecords = (lines: readonly string[]) =>
    lines.flatMap((line) => (line.trim() === '' ? [] : [{ event: '', data: line }]))
  return {
    read(bytes) {
      const [first = '', ...lines] = decoder.write(Buffer.from(bytes)).split('\n')
      lines.unshift(rest + first)
      rest = lines.pop() ?? ''
      if (rest.length > MAX_RECORD_CHARS) throw recordTooLongError(MAX_RECORD_CHARS)
      return toRecords(lines)
    },
    end: () => toRecords([rest + decoder.end()]),
  }
}
