import type { JsonObject, ReplyEvent, ReplyPart } from '../../contract/index.ts'
import { toolCallOf } from './tool-call.ts'
import { usageOf } from './usage.ts'

/** What every chunk of one stream repeats. */
export interface ChunkFrame {
  readonly id: string
  readonly created: number
}

export interface ChunkWriter {
  chunksOf(event: ReplyEvent): readonly JsonObject[]
  /** The chunk that tells the usage, for after all others; undefined where the client did not ask for it. */
  usageChunk(): JsonObject | undefined
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

  return {
    chunksOf({ native, parts }) {
      const chunks = native ? [adopt(native)] : parts.map(chunkOfPart)
      return chunks.filter((chunk) => chunk !== undefined)
    },
    usageChunk: () => (wantsUsage ? usageChunk : undefined),
  }
}
