import type { JsonObject, RecordPattern, ReplyEvent, ReplyPart } from '../../contract/index.ts'
import { spliceChunk } from './splice-chunk.ts'
import { toolCallOf } from './tool-call.ts'
import { usageOf } from './usage.ts'

/** What every chunk of one stream repeats. */
export interface ChunkFrame {
  readonly id: string
  readonly created: number
}

export interface ChunkWriter {
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
 * Makes the chunks of one stream from a vendor's events; one writer per stream. Vendors tell the usage on a chunk of its
 * own, on the last one or on several: clients get what was told last, once.
 */
export function createChunkWriter(frame: ChunkFrame, wantsUsage: boolean): ChunkWriter {
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
        return chunkOf({ tool_calls: [{ index: part.index, ...toolCallOf(part) }] })
      }
      case 'tool-json':
        return chunkOf({ tool_calls: [{ index: part.index, function: { arguments: part.json } }] })
      case 'finish':
        return chunkOf({}, part.reason)
      case 'usage':
        usageChunk = { ...chunkOf({}), choices: [], usage: usageOf(part.usage) }
        return undefined
      default:
        part satisfies never
        return undefined
    }
  }

  /** A vendor's own chunk under this stream's id, without its usage. */
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
