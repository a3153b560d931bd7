import {
  type Exchange,
  GatewayError,
  type JsonObject,
  type RecordPattern,
  type ReplyEvent,
  type ReplyPart,
} from '../../contract/index.ts'
import { relatedId } from '../../util/ids.ts'
import { recordUsage, toStreamError } from '../reply-events.ts'
import { decorateRecord, toCompletionToolCall, toCompletionUsage } from './completion.ts'
import { chatErrorBody } from './error-body.ts'

/**
 * Chat-completion chunks as SSE. The first record carries the extension fields that are known, the last carries all: so
 * from the finish on one record is held back until it is certain whether another follows.
 */
export async function* streamChatChunks(exchange: Exchange): AsyncGenerator<string> {
  if (exchange.reply?.type !== 'stream')
    throw new GatewayError('internal_error', 'There is no stream to write.')
  const wantsUsage = exchange.request.stream_options?.include_usage === true
  const frame = { id: relatedId('chatcmpl-', exchange.id), created: Math.floor(Date.now() / 1000) }
  const { chunksOf, textsOf, usageChunk } = createChunkWriter(frame, wantsUsage)
  let first = true
  let finished = false
  let held: JsonObject | undefined

  try {
    for await (const batch of exchange.reply.batches) {
      let text = ''
      for (const event of batch) {
        finished = recordUsage(exchange, event) || finished
        if (!first && !finished) {
          for (const chunk of textsOf(event)) text += `data: ${chunk}\n\n`
          continue
        }
        for (const chunk of chunksOf(event)) {
          if (held !== undefined) text += record(held)
          held = first ? decorateRecord(chunk, chunk.id, exchange.decoration?.first) : chunk
          first = false
          if (!finished) {
            text += record(held)
            held = undefined
          }
        }
      }
      if (text !== '') yield text
    }
    const usage = usageChunk()
    const before = held && usage ? record(held) : ''
    const last = usage ?? held
    yield `${before}${last ? record(decorateRecord(last, last.id, exchange.decoration?.last())) : ''}data: [DONE]\n\n`
  } catch (error) {
    if (exchange.client.isAborted) return
    const last = held ? record(held) : ''
    exchange.error = toStreamError(error)
    yield `${last}${record(chatErrorBody(exchange.error))}`
  }
}

function record(data: JsonObject): string {
  return `data: ${JSON.stringify(data)}\n\n`
}

const EMPTY_USAGE = ',"usage":null'

/**
 * A provider's chunk under another id, made from its text: to write an object out anew is half the work of a stream. An empty usage goes
 * when the client did not ask for any. Undefined when the text is not of the usual shape, or the chunk needs more than that.
 */
function spliceChunk(
  source: string,
  native: JsonObject,
  id: string,
  wantsUsage: boolean,
): string | undefined {
  const head = `{"id":"${native.id}",`
  if (!source.startsWith(head) || source.includes('\n')) return undefined
  if (native.usage !== undefined && native.usage !== null) return undefined
  if (native.usage === undefined || wantsUsage) return `{"id":"${id}",${source.slice(head.length)}`
  // A quotation mark within a string is escaped, so what is found is a field; the only one is the chunk's own.
  const at = source.indexOf(EMPTY_USAGE)
  if (at === -1 || at !== source.lastIndexOf(EMPTY_USAGE)) return undefined
  return `{"id":"${id}",${source.slice(head.length, at)}${source.slice(at + EMPTY_USAGE.length)}`
}

/** What every chunk of one stream repeats. */
interface ChunkFrame {
  readonly id: string
  readonly created: number
}

interface ChunkWriter {
  chunksOf(event: ReplyEvent): readonly JsonObject[]
  /** The same as JSON texts, and quicker: most of a stream needs nothing else. */
  textsOf(event: ReplyEvent): readonly string[]
  /** The chunk that tells the usage, for after all others; undefined where the client did not ask for it. */
  usageChunk(): JsonObject | undefined
}

const MARK = '\u0000'

/** What a chunk says before and after what differs; undefined where it has to be written anew. */
type Around = readonly [string, string] | undefined

function splitAtMark(text: string, mark: string): readonly [string, string] {
  const [before = '', after = ''] = text.split(mark)
  return [before, after]
}

/**
 * Makes the chunks of one stream from a provider's events; one writer per stream. Providers tell the usage on a chunk of its
 * own, on the last one or on several: clients get what was told last, once.
 */
function createChunkWriter(frame: ChunkFrame, wantsUsage: boolean): ChunkWriter {
  let model = ''
  let usageChunk: JsonObject | undefined

  function chunkOf(delta: JsonObject, finish: string | null = null): JsonObject {
    return {
      ...frame,
      object: 'chat.completion.chunk',
      model,
      choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
      ...(wantsUsage && { usage: null }),
    }
  }

  function chunkOfPart(part: ReplyPart): JsonObject | undefined {
    switch (part.type) {
      case 'start':
        model = part.model
        return chunkOf({ role: 'assistant', content: '' })
      case 'text':
        return chunkOf({ content: part.text })
      case 'reasoning':
        return chunkOf({ reasoning_content: part.text })
      case 'refusal':
        return chunkOf({ refusal: part.text })
      case 'tool-start': {
        return chunkOf({ tool_calls: [{ index: part.index, ...toCompletionToolCall(part) }] })
      }
      case 'tool-json':
        return chunkOf({ tool_calls: [{ index: part.index, function: { arguments: part.json } }] })
      case 'finish':
        return chunkOf({}, part.reason)
      case 'usage':
        usageChunk = { ...chunkOf({}), choices: [], usage: toCompletionUsage(part.usage) }
        return undefined
      default:
        part satisfies never
        return undefined
    }
  }

  /** A provider's own chunk under this stream's id, without its usage. */
  function adopt(native: JsonObject): JsonObject | undefined {
    if (native.usage === undefined) return { ...native, id: frame.id }
    const { usage, ...rest } = native
    const chunk = { ...rest, id: frame.id, ...(wantsUsage && { usage: null }) }
    if (usage === null) return chunk
    usageChunk = { ...chunk, choices: [], usage }
    return Array.isArray(native.choices) && native.choices.length === 0 ? undefined : chunk
  }

  function chunksOf({ native, parts }: ReplyEvent): readonly JsonObject[] {
    const chunks = native ? [adopt(native)] : parts.map(chunkOfPart)
    return chunks.filter((chunk) => chunk !== undefined)
  }

  /** What a chunk of text says before and after the text; the same all along the stream. */
  let aroundText: readonly [string, string] | undefined

  function writeText(text: string): string {
    aroundText ??= splitAtMark(JSON.stringify(chunkOf({ content: MARK })), JSON.stringify(MARK))
    return aroundText[0] + JSON.stringify(text) + aroundText[1]
  }

  let repeated: { readonly pattern: RecordPattern; readonly around: Around } | undefined

  function repeat(event: ReplyEvent, pattern: RecordPattern): string | undefined {
    if (repeated?.pattern !== pattern) repeated = { pattern, around: around(pattern, event.native) }
    const { source = '' } = event
    const { before, after } = pattern
    const [head, tail] = repeated.around ?? []
    if (head === undefined || tail === undefined) return undefined
    return head + source.slice(before.length, source.length - after.length) + tail
  }

  function around({ before, after }: RecordPattern, native: JsonObject | undefined): Around {
    const spliced = native && spliceChunk(before + MARK + after, native, frame.id, wantsUsage)
    return spliced === undefined ? undefined : splitAtMark(spliced, MARK)
  }

  return {
    chunksOf,
    textsOf(event) {
      if (event.pattern !== undefined) {
        const text = repeat(event, event.pattern)
        if (text !== undefined) return [text]
      }
      const { native, source, parts } = event
      const [part] = parts
      if (native === undefined && parts.length === 1 && part?.type === 'text') return [writeText(part.text)]
      const spliced = native && source && spliceChunk(source, native, frame.id, wantsUsage)
      return spliced ? [spliced] : chunksOf(event).map((chunk) => JSON.stringify(chunk))
    },
    usageChunk: () => (wantsUsage ? usageChunk : undefined),
  }
}
