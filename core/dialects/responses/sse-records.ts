import type { JsonObject, ReplyPart, Target } from '../../contract/index.ts'
import type { ChunkLengths } from './chunk-lengths.ts'
import { toReplyParts } from './chunk-lengths.ts'
import { type ClientTools, findCalledTools } from './client-tools.ts'
import { createResponseOutput, type ResponseOutput } from './output.ts'
import type { ItemStatus, OutputEvent } from './output-items.ts'
import { toInitialResponse, toResponseForm, toResponsesUsage } from './response.ts'

/**
 * The SSE records of one streamed response, numbered from 0 without gaps. Every method returns the text of
 * the records that it adds.
 */
interface SseRecords {
  readonly output: ResponseOutput
  open(response: JsonObject): string
  add(part: ReplyPart): string
  /** Closes all items. */
  close(status: ItemStatus): string
  /** Adds the last record: `completed`, `incomplete` or `failed`, according to the response. */
  end(response: JsonObject): string
}

const NO_USAGE = toResponsesUsage({ input: 0, output: 0 })

interface SseRecordOptions {
  readonly tools?: ClientTools | undefined
  readonly target?: Target | undefined
  /** Leaves out the records up to this number. */
  readonly startingAfter?: number | undefined
}

export function createSseRecords(
  responseKey: string,
  { tools, target, startingAfter = -1 }: SseRecordOptions = {},
): SseRecords {
  let sequenceNumber = 0
  let text = ''

  function append({ type, ...fields }: OutputEvent): void {
    const number = sequenceNumber++
    if (number <= startingAfter) return
    const data = { type, sequence_number: number, ...fields }
    text += `event: ${type}\ndata: ${JSON.stringify(data)}\n\n`
  }

  /** Returns the records that were appended since the last call. */
  function takeAppended(): string {
    const appended = text
    text = ''
    return appended
  }

  const output = createResponseOutput(responseKey, { tools, target, emit: append })
  return {
    output,
    open(response) {
      // Open Responses requires the field, and OpenAI's description does not allow null.
      const shown = toResponseForm({ ...response, usage: NO_USAGE }, 'openai')
      append({ type: 'response.created', response: shown })
      append({ type: 'response.in_progress', response: shown })
      return takeAppended()
    },
    add(part) {
      output.add(part)
      return takeAppended()
    },
    close(status) {
      output.close(status)
      return takeAppended()
    },
    end(response) {
      append({ type: `response.${response.status}`, response: toResponseForm(response, 'openai') })
      return takeAppended()
    },
  }
}

/** Replays the records of a stored response. If it was streamed, they are the same byte for byte. */
export async function* replaySseRecords(
  responseKey: string,
  response: JsonObject,
  chunkLengths?: ChunkLengths,
  startingAfter?: number,
): AsyncGenerator<string> {
  const items = Array.isArray(response.output) ? response.output : []
  const records = createSseRecords(responseKey, { tools: findCalledTools(items), startingAfter })
  yield records.open(toInitialResponse(response))
  for (const part of toReplyParts(items, chunkLengths)) yield records.add(part)
  const status = response.status === 'incomplete' ? 'incomplete' : 'completed'
  yield (items.length > 0 ? records.close(status) : '') + records.end(response)
}
