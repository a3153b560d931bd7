import { isJsonObject, type JsonObject, type ReplyPart, type Target } from '../../core/contract/index.ts'
import {
  type ClientTools,
  findCalledTools,
  TOOL_SEARCH,
  toCustomArguments,
  toFunctionName,
} from '../../providers/shared/responses-format/client-tools.ts'
import {
  type ChunkLengths,
  createResponseOutput,
  type ResponseOutput,
} from '../../providers/shared/responses-format/output.ts'
import type { ItemStatus, OutputEvent } from '../../providers/shared/responses-format/output-items.ts'
import { toInitialResponse, toResponseForm, toResponsesUsage } from './response.ts'

/**
 * Converts an output back to the reply parts that it was built from, in the recorded chunks. Without recorded
 * lengths, each text is one chunk.
 */
function toReplyParts(
  output: readonly JsonObject[],
  chunkLengths: ChunkLengths = wholeTextLengths(output),
): readonly ReplyPart[] {
  const readers = createItemReaders(output)
  return chunkLengths.flatMap(([index = 0, ...lengths]) =>
    lengths.flatMap((length) => readers[index]?.(length) ?? []),
  )
}

/** Returns the next chunk of one output item. */
type ItemReader = (length: number) => readonly ReplyPart[]

function createItemReaders(output: readonly JsonObject[]): readonly ItemReader[] {
  let callCount = 0
  return output.map((item) => {
    if (isCall(item)) return createCallReader(item, callCount++)
    return item.type === 'image_generation_call' ? () => [toImagePart(item)] : createTextReader(item)
  })
}

function toImagePart({ output_format, result }: JsonObject): ReplyPart {
  return { type: 'image', url: `data:image/${output_format};base64,${result}` }
}

function isCall({ type }: JsonObject): boolean {
  return type === 'function_call' || type === 'custom_tool_call' || type === 'tool_search_call'
}

/** A chunk of length 0 is the start of the call. */
function createCallReader(item: JsonObject, index: number): ItemReader {
  const { type, call_id, name, namespace, arguments: json, extra_content } = item
  const start: ReplyPart = {
    type: 'tool-start',
    index,
    id: String(call_id),
    name: type === 'tool_search_call' ? TOOL_SEARCH : toFunctionName(String(name), namespace),
    ...(isJsonObject(extra_content) && { extra_content }),
  }
  if (type === 'custom_tool_call')
    return () => [start, { type: 'tool-json', index, json: toCustomArguments(item.input) }]
  if (type === 'tool_search_call')
    return () => [start, { type: 'tool-json', index, json: JSON.stringify(json) }]
  const split = createSplitter(String(json))
  return (length) => (length === 0 ? [start] : [{ type: 'tool-json', index, json: split(length) }])
}

function createTextReader(item: JsonObject): ItemReader {
  const contents = textContents(item).map(({ type, text }) => ({ type, text, split: createSplitter(text) }))
  let readLength = 0
  return (length) => {
    if (length === 0) return [toSealPart(item)]
    const [content] = contents
    if (content === undefined) return []
    readLength += length
    if (readLength >= content.text.length) {
      contents.shift()
      readLength = 0
    }
    return [{ type: content.type, text: content.split(length) }]
  }
}

/** A chunk of length 0 is what the provider wants back with its reasoning, as it was sent to the client. */
function toSealPart({ encrypted_content }: JsonObject): ReplyPart {
  return { type: 'extra', place: 'block', content: { openai: { encrypted_content } } }
}

/** Returns a function that cuts the next `length` code units off the text. */
function createSplitter(text: string): (length: number) => string {
  let end = 0
  return (length) => {
    end += length
    return text.slice(end - length, end)
  }
}

function wholeTextLengths(output: readonly JsonObject[]): ChunkLengths {
  return output.map((item, index) => [index, ...itemLengths(item)])
}

/** Types of items that are sent at once. */
const WHOLE_ITEMS: ReadonlySet<unknown> = new Set([
  ...['custom_tool_call', 'tool_search_call', 'image_generation_call'],
])

function itemLengths(item: JsonObject): readonly number[] {
  if (WHOLE_ITEMS.has(item.type)) return [0]
  if (item.type === 'function_call') return [0, ...nonZero(String(item.arguments).length)]
  const lengths = textContents(item).flatMap(({ text }) => nonZero(text.length))
  return item.encrypted_content === undefined ? lengths : [...lengths, 0]
}

function nonZero(length: number): readonly number[] {
  return length === 0 ? [] : [length]
}

interface TextContent {
  readonly type: 'text' | 'refusal' | 'reasoning'
  readonly text: string
}

function textContents({ type, content, summary }: JsonObject): TextContent[] {
  const parts = type === 'reasoning' ? summary : content
  if (!Array.isArray(parts)) return []
  return parts.filter(isJsonObject).map((part) => toTextContent(part))
}

function toTextContent({ type, text, refusal }: JsonObject): TextContent {
  if (type === 'refusal') return { type: 'refusal', text: String(refusal) }
  return { type: type === 'summary_text' ? 'reasoning' : 'text', text: String(text) }
}

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
