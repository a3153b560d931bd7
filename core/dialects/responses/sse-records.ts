import type { JsonObject, ReplyPart } from '../../contract/index.ts'
import type { ChunkLengths } from '../../events/domain-events.ts'
import { toReplyParts } from './chunk-lengths.ts'
import { createResponseOutput, type ResponseOutput } from './output.ts'
import type { ItemStatus, OutputEvent } from './output-items.ts'
import { toInitialResponse } from './response.ts'

/** The SSE records of one streamed response, numbered from 0 without gaps. */
interface SseRecords {
  readonly output: ResponseOutput
  open(response: JsonObject): string
  add(part: ReplyPart): string
  /** The end of every item. */
  close(status: ItemStatus): string
  /** The last record: `completed`, `incomplete` or `failed`, as the response says. */
  end(response: JsonObject): string
}

export function createSseRecords(seed: string): SseRecords {
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

  const output = createResponseOutput(seed, write)
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
export async function* replaySseRecords(
  seed: string,
  response: JsonObject,
  pace?: ChunkLengths,
): AsyncGenerator<string> {
  const records = createSseRecords(seed)
  const items = Array.isArray(response.output) ? response.output : []
  yield records.open(toInitialResponse(response))
  for (const part of toReplyParts(items, pace)) yield records.add(part)
  yield records.close(response.status === 'incomplete' ? 'incomplete' : 'completed') + records.end(response)
}
