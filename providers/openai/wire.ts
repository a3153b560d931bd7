import { isJsonObject, type JsonObject } from '../../core/contract/json.ts'
import type { FinishReason, ReplyPart, Usage } from '../../core/contract/reply.ts'

/** The string, or an empty one for anything else. */
export function readString(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/** The first choice of a completion or chunk; further ones (`n` > 1) travel in the native record only. */
export function readChoice(completion: JsonObject): JsonObject | undefined {
  if (!Array.isArray(completion.choices)) return undefined
  return completion.choices.filter(isJsonObject).find((choice) => (choice.index ?? 0) === 0)
}

/** The reasoning, text and refusal of a message or a delta, in the order in which a model says them. */
export function readContent(message: JsonObject): ReplyPart[] {
  const parts: ReplyPart[] = []
  const reasoning = readString(message.reasoning_content)
  const text = readString(message.content)
  const refusal = readString(message.refusal)
  if (reasoning !== '') parts.push({ type: 'reasoning', text: reasoning })
  if (text !== '') parts.push({ type: 'text', text })
  if (refusal !== '') parts.push({ type: 'refusal', text: refusal })
  return parts
}

/** Token counts; undefined where the record reports none, as on all but one chunk of a stream. */
export function readUsage(value: unknown): Usage | undefined {
  if (!isJsonObject(value)) return undefined
  const cached = readDetail(value.prompt_tokens_details, 'cached_tokens')
  const reasoning = readDetail(value.completion_tokens_details, 'reasoning_tokens')
  return {
    input: readCount(value.prompt_tokens) ?? 0,
    output: readCount(value.completion_tokens) ?? 0,
    ...(cached !== undefined && { cached }),
    ...(reasoning !== undefined && { reasoning }),
  }
}

function readDetail(details: unknown, field: string): number | undefined {
  return isJsonObject(details) ? readCount(details[field]) : undefined
}

function readCount(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined
}

/** Undefined until the model has finished. A reason that we do not know counts as `stop`. */
export function readFinishReason(value: unknown): FinishReason | undefined {
  switch (value) {
    case undefined:
    case null:
      return undefined
    case 'length':
    case 'tool_calls':
    case 'content_filter':
      return value
    case 'function_call':
      return 'tool_calls'
    default:
      return 'stop'
  }
}
