import { isJsonObject, type JsonObject, type ReplyPart } from '../../contract/index.ts'
import { TOOL_SEARCH, toCustomArguments, toFunctionName } from './client-tools.ts'

/**
 * Runs of chunks of one output item: the item's index in the output, then the length of each chunk. A length
 * of 0 is the start of a tool call. See docs/decisions/responses.md, "A stored response is the answer plus
 * the lengths of its chunks".
 */
export type ChunkLengths = readonly (readonly number[])[]

/** Creates a recorder for the lengths of an output's chunks, with which the stream can be replayed. */
export function createChunkLengthRecorder() {
  const runs: number[][] = []
  let lastIndex = -1
  return {
    runs: runs as ChunkLengths,
    /** Records a chunk of the output item at `index`; `length` is in UTF-16 code units. */
    record(index: number, length: number): void {
      if (index !== lastIndex) runs.push([index])
      lastIndex = index
      runs.at(-1)?.push(length)
    },
  }
}

/**
 * Converts an output back to the reply parts that it was built from, in the recorded chunks. Without recorded
 * lengths, each text is one chunk.
 */
export function toReplyParts(
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
