import type { JsonObject, ReplyPart } from '../../contract/index.ts'
import type { ChunkLengths } from '../../events/domain-events.ts'
import { partsOf } from './chunk-lengths.ts'
import { createOutput, type Output } from './output.ts'
import type { ItemStatus, OutputEvent } from './output-items.ts'
import { reopenResponse } from './response.ts'

/** The SSE records of one streamed response, numbered from 0 without gaps. */
interface Records {
  readonly output: Output
  open(response: JsonObject): string
  add(part: ReplyPart): string
  /** The end of every item. */
  close(status: ItemStatus): string
  /** The last record: `completed`, `incomplete` or `failed`, as the response says. */
  end(response: JsonObject): string
}

export function createRecords(seed: string): Records {
  let number = 0
  let text = ''

  function write({ type, ...fields }: OutputEvent): void {
    text += `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: number++, ...fields })}\n\n`
  }
  /** What was written since it was taken last. */
  function take(): string {
    const taken = text
    text = ''
    return taken
  }

  const output = createOutput(seed, write)
  return {
    output,
    open(response) {
      write({ type: 'response.created', response })
      write({ type: 'response.in_progress', response })
      return take()
    },
    add(part) {
      output.add(part)
      return take()
    },
    close(status) {
      output.close(status)
      return take()
    },
    end(response) {
      write({ type: `response.${response.status}`, response })
      return take()
    },
  }
}

/** The records of a response that was stored, the same again. */
export async function* replayRecords(
  seed: string,
  response: JsonObject,
  pace?: ChunkLengths,
): AsyncGenerator<string> {
  const records = createRecords(seed)
  const items = Array.isArray(response.output) ? response.output : []
  yield records.open(reopenResponse(response))
  for (const part of partsOf(items, pace)) yield records.add(part)
  yield records.close(response.status === 'incomplete' ? 'incomplete' : 'completed') + records.end(response)
}
