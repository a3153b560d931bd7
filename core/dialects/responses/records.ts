import type { JsonObject, ReplyPart } from '../../contract/index.ts'
import type { Pace } from '../../events/responses.ts'
import { createOutput, type Output } from './output.ts'
import type { ItemStatus, OutputEvent } from './output-item.ts'
import { partsOf } from './pace.ts'
import { reopenResponse } from './response.ts'

/** The SSE records of one streamed response, numbered from 0 without gaps. */
export interface Records {
  readonly output: Output
  open(response: JsonObject): string
  add(part: ReplyPart): string
  /** The end of every item. */
  close(status: ItemStatus): string
  /** The last record: `completed`, `incomplete` or `failed`, as the response says. */
  end(response: JsonObject): string
}

export function createRecords(seed: string): Records {
  const output = createOutput(seed)
  let number = 0

  function write(events: readonly OutputEvent[]): string {
    let text = ''
    for (const { type, ...fields } of events) {
      text += `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: number++, ...fields })}\n\n`
    }
    return text
  }

  return {
    output,
    open: (response) =>
      write([
        { type: 'response.created', response },
        { type: 'response.in_progress', response },
      ]),
    add: (part) => write(output.add(part)),
    close: (status) => write(output.close(status)),
    end: (response) => write([{ type: `response.${response.status}`, response }]),
  }
}

/** The records of a response that was stored, the same again. */
export async function* replayRecords(
  seed: string,
  response: JsonObject,
  pace?: Pace,
): AsyncGenerator<string> {
  const records = createRecords(seed)
  const items = Array.isArray(response.output) ? response.output : []
  yield records.open(reopenResponse(response))
  for (const part of partsOf(items, pace)) yield records.add(part)
  yield records.close(response.status === 'incomplete' ? 'incomplete' : 'completed') + records.end(response)
}
