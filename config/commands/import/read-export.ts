import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { isJsonObject, type RecordedEvent } from '../../../core/contract/index.ts'
import { isExpiring } from '../../../core/events/expiring.ts'

/** The events of a file as "log export" writes it; throws at a line that is none. */
export async function* readExport(file: string): AsyncGenerator<RecordedEvent> {
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
