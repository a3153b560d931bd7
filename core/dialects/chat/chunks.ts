import type { JsonObject, ReplyEvent, ReplyPart } from '../../contract/index.ts'
import { toolCallOf } from './tool-call.ts'
import { usageOf } from './usage.ts'

/** What every chunk of one stream repeats. */
export interface ChunkFrame {
  readonly id: string
  readonly created: number
}

/** Makes the chunks of one stream from a vendor's events; one writer per stream. */
export function createChunkWriter(frame: ChunkFrame, wantsUsage: boolean) {
  let model = ''

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
        return wantsUsage ? { ...chunkOf({}), choices: [], usage: usageOf(part.usage) } : undefined
      default:
        part satisfies never
        return undefined
    }
  }

  /** A vendor's own chunk under this stream's id, without the usage that the client did not ask for. */
  function adopt(native: JsonObject): JsonObject | undefined {
    if (wantsUsage || native.usage === undefined) return { ...native, id: frame.id }
    if (Array.isArray(native.choices) && native.choices.length === 0) return undefined
    const { usage: _, ...rest } = native
    return { ...rest, id: frame.id }
  }

  return (event: ReplyEvent): readonly JsonObject[] => {
    const chunks = event.native ? [adopt(event.native)] : event.parts.map(chunkOfPart)
    return chunks.filter((chunk) => chunk !== undefined)
  }
}
