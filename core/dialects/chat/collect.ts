import type { JsonObject, ReplyPart } from '../../contract/index.ts'
import { toolCallOf } from './tool-call.ts'
import { usageOf } from './usage.ts'

/** A chat completion from the parts of a whole reply; its `id` is left empty. */
export function collectCompletion(parts: readonly ReplyPart[]): JsonObject {
  let model = ''
  let usage: JsonObject | undefined
  let finish = 'stop'
  const texts = { text: '', reasoning: '', refusal: '' }
  const calls: ReturnType<typeof toolCallOf>[] = []
  for (const part of parts) {
    switch (part.type) {
      case 'start':
        model = part.model
        break
      case 'text':
      case 'reasoning':
      case 'refusal':
        texts[part.type] += part.text
        break
      case 'tool-start':
        calls[part.index] = toolCallOf(part)
        break
      case 'tool-json': {
        const call = calls[part.index]
        if (call !== undefined) call.function.arguments += part.json
        break
      }
      case 'usage':
        usage = usageOf(part.usage)
        break
      case 'finish':
        finish = part.reason
        break
      default:
        part satisfies never
    }
  }
  const message = {
    role: 'assistant',
    content: texts.text === '' && calls.length > 0 ? null : texts.text,
    refusal: texts.refusal || null,
    ...(texts.reasoning && { reasoning_content: texts.reasoning }),
    ...(calls.length > 0 && { tool_calls: calls }),
  }
  return {
    id: '',
    object: 'chat.completion',
    created: Math.floor(Date.now() / 1000),
    model,
    choices: [{ index: 0, message, logprobs: null, finish_reason: finish }],
    ...(usage && { usage }),
  }
}
