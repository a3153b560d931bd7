import {
  type Exchange,
  GatewayError,
  isJsonObject,
  type JsonObject,
  type ReplyPart,
  type ToolStart,
  type Usage,
} from '../../contract/index.ts'
import { relatedId } from '../../util/ids.ts'

/** A chat completion with the extension fields. A provider's own completion keeps every field it came with. */
export function buildChatCompletion(exchange: Exchange): JsonObject | string {
  if (exchange.reply?.type !== 'whole')
    throw new GatewayError('internal_error', 'There is no reply to write.')
  const { parts, native, source } = exchange.reply.event
  const id = relatedId('chatcmpl-', exchange.id)
  const extension = exchange.decoration?.last()
  const spliced = native && source && extension && spliceCompletion(source, native, id, extension)
  return spliced || decorateRecord(native ?? buildCompletionFromParts(parts), id, extension)
}

/** A record under our id with the extension fields; `metadata` of both is kept, the gateway's winning. */
export function decorateRecord(
  record: JsonObject,
  id: unknown,
  extension: JsonObject | undefined,
): JsonObject {
  if (!isJsonObject(record.metadata) || !isJsonObject(extension?.metadata))
    return { ...record, id, ...extension }
  return { ...record, id, ...extension, metadata: { ...record.metadata, ...extension.metadata } }
}

/** The beginning of an object up to its `id`, if that comes first. */
const HEAD = /^\s*\{\s*"id"\s*:\s*"([^"\\]*)"\s*,/

/**
 * A provider's completion under another id and with more fields, made from its text: to write an object out anew is dearer than to read it.
 * Undefined when the text does not begin with the id, or the completion has one of the fields already.
 */
export function spliceCompletion(
  source: string,
  native: JsonObject,
  id: string,
  extension: JsonObject,
): string | undefined {
  const head = HEAD.exec(source)
  if (head === null || head[1] !== native.id) return undefined
  for (const name in extension) if (name in native) return undefined
  const more = JSON.stringify(extension)
  if (more === '{}') return undefined
  return `{"id":"${id}",${source.slice(head[0].length, source.lastIndexOf('}'))},${more.slice(1)}`
}

/** A chat completion from the parts of a whole reply; its `id` is left empty. */
export function buildCompletionFromParts(parts: readonly ReplyPart[]): JsonObject {
  let model = ''
  let usage: JsonObject | undefined
  let finish = 'stop'
  const texts = { text: '', reasoning: '', refusal: '' }
  const calls: ReturnType<typeof toCompletionToolCall>[] = []
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
        calls[part.index] = toCompletionToolCall(part)
        break
      case 'tool-json': {
        const call = calls[part.index]
        if (call !== undefined) call.function.arguments += part.json
        break
      }
      case 'usage':
        usage = toCompletionUsage(part.usage)
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

/** The beginning of a tool call as chat completions write it; its arguments follow. */
export function toCompletionToolCall({ id, name, extra_content }: ToolStart) {
  return {
    id,
    type: 'function' as const,
    function: { name, arguments: '' },
    ...(extra_content && { extra_content }),
  }
}

/** Token counts as chat completions name them. */
export function toCompletionUsage(usage: Usage): JsonObject {
  return {
    prompt_tokens: usage.input,
    completion_tokens: usage.output,
    total_tokens: usage.input + usage.output,
    prompt_tokens_details: {
      cached_tokens: usage.cached ?? 0,
      ...(usage.cacheWrite !== undefined && { cache_write_tokens: usage.cacheWrite }),
    },
    completion_tokens_details: { reasoning_tokens: usage.reasoning ?? 0 },
  }
}
