import type { FinishReason, ReplyEvent, ReplyPart, Usage } from '../../core/contract/chat.ts'
import { GatewayError } from '../../core/contract/errors.ts'
import { isJsonObject, type JsonObject } from '../../core/contract/json.ts'
import { asNumber, asObject, asObjects, asString } from '../shared/fields.ts'
import { isFailure, readFailureRecord } from './errors.ts'
import { createToolCallReader } from './tools.ts'

/** Reads a chat completion. Throws a `GatewayError` when the body is anything else. */
export function parseChatReply(body: unknown): ReplyEvent {
  const native = asObject(body)
  if (isFailure(native)) throw readFailureRecord(native)
  const choice = readChoice(native)
  if (!choice)
    throw new GatewayError('provider_error', 'The provider sent a reply that is no chat completion.')

  const message = asObject(choice.message)
  const usage = readUsage(native.usage)
  const parts: ReplyPart[] = [{ type: 'start', id: asString(native.id), model: asString(native.model) }]
  addContent(parts, message)
  if (message.tool_calls !== undefined) parts.push(...createToolCallReader()(message.tool_calls))
  if (usage) parts.push({ type: 'usage', usage })
  parts.push({ type: 'finish', reason: readFinishReason(choice.finish_reason) ?? 'stop' })
  return { parts, native }
}

/** The first choice of a completion or chunk; further ones (`n` > 1) travel in the native record only. */
export function readChoice(completion: JsonObject): JsonObject | undefined {
  if (!Array.isArray(completion.choices)) return undefined
  for (const choice of completion.choices)
    if (isJsonObject(choice) && (choice.index ?? 0) === 0) return choice
  return undefined
}

/**
 * Undefined until the model has finished. A reason that we do not know counts as `stop`; one that says that the provider
 * broke off is thrown as a `GatewayError`.
 */
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
    case 'model_length': // Mistral: the context is full.
      return 'length'
    case 'error': // Mistral
    case 'insufficient_system_resource': // DeepSeek
      throw new GatewayError('provider_error', `The provider broke its reply off (${value}).`)
    default:
      return 'stop'
  }
}

/** Adds the reasoning, text and refusal of a message or a delta, in the order in which a model says them. */
export function addContent(parts: ReplyPart[], message: JsonObject): void {
  add(parts, 'reasoning', message.reasoning_content)
  if (Array.isArray(message.content)) addChunks(parts, message.content)
  else add(parts, 'text', message.content)
  add(parts, 'refusal', message.refusal)
}

function add(parts: ReplyPart[], type: 'reasoning' | 'text' | 'refusal', text: unknown): void {
  if (typeof text === 'string' && text !== '') parts.push({ type, text })
}

/** Mistral's content lists: `{type:"text", text}`, `{type:"thinking", thinking:[{type:"text", text}]}` (docs/providers.md, "Mistral replies"). */
function addChunks(parts: ReplyPart[], chunks: readonly unknown[]): void {
  for (const chunk of asObjects(chunks)) {
    if (chunk.type === 'thinking')
      for (const { text } of asObjects(chunk.thinking)) add(parts, 'reasoning', text)
    else add(parts, 'text', chunk.text)
  }
}

/** Token counts; undefined where the record reports none, as on all but one chunk of a stream. */
export function readUsage(value: unknown): Usage | undefined {
  if (!isJsonObject(value)) return undefined
  const cached = readCached(value)
  const cacheWrite = asNumber(asObject(value.prompt_tokens_details).cache_write_tokens)
  const reasoning = asNumber(asObject(value.completion_tokens_details).reasoning_tokens)
  return {
    input: asNumber(value.prompt_tokens) ?? 0,
    output: asNumber(value.completion_tokens) ?? 0,
    ...(cached !== undefined && { cached }),
    ...(cacheWrite !== undefined && { cacheWrite }),
    ...(reasoning !== undefined && { reasoning }),
  }
}

/** OpenAI's name first, then Mistral's two, then DeepSeek's. */
function readCached(usage: JsonObject): number | undefined {
  return (
    asNumber(asObject(usage.prompt_tokens_details).cached_tokens) ??
    asNumber(asObject(usage.prompt_token_details).cached_tokens) ??
    asNumber(usage.num_cached_tokens) ??
    asNumber(usage.prompt_cache_hit_tokens)
  )
}
