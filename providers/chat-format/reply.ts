import { type FinishReason, ReplyEvent, type ReplyPart, type Usage } from '../../core/contract/chat.ts'
import { GatewayError } from '../../core/contract/errors.ts'
import { isJsonObject, type JsonObject } from '../../core/contract/json.ts'
import { toPriceFactor } from '../../core/util/price-terms.ts'
import { unusableReplyError } from '../shared/errors.ts'
import { asObject, asObjects, asString, asTokens } from '../shared/fields.ts'
import { isChatErrorRecord, parseChatErrorRecord } from './errors.ts'
import { ReasoningFields, reasoningTextOf } from './reasoning-fields.ts'
import { createToolCallReader } from './tools.ts'

/** Parses a chat completion. Throws a `GatewayError` for an error body and for any other value. */
export function parseChatReply(body: unknown): ReplyEvent {
  const native = asObject(body)
  if (isChatErrorRecord(native)) throw parseChatErrorRecord(native)
  const choice = findFirstChoice(native)
  if (!choice) throw unusableReplyError("The provider's reply is not a chat completion.")

  const message = asObject(choice.message)
  const usage = toChatUsage(native.usage, native.service_tier)
  const parts: ReplyPart[] = [{ type: 'start', id: asString(native.id), model: asString(native.model) }]
  addContentParts(parts, message, new ReasoningFields())
  if (message.tool_calls !== undefined) parts.push(...createToolCallReader()(message.tool_calls))
  if (usage) parts.push({ type: 'usage', usage })
  parts.push({ type: 'finish', reason: toChatFinishReason(choice.finish_reason) ?? 'stop' })
  return new ReplyEvent(parts, { record: native })
}

/** The first choice of a completion or chunk. Further choices (`n` > 1) are in the native record only. */
export function findFirstChoice(completion: JsonObject): JsonObject | undefined {
  if (!Array.isArray(completion.choices)) return undefined
  for (const choice of completion.choices)
    if (isJsonObject(choice) && (choice.index ?? 0) === 0) return choice
  return undefined
}

/**
 * Maps a `finish_reason`. Undefined until the model has finished; an unknown reason counts as `stop`. Throws
 * a `GatewayError` if the provider aborted the reply.
 */
export function toChatFinishReason(value: unknown): FinishReason | undefined {
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
      throw new GatewayError('provider_error', `The provider aborted its reply (finish_reason: ${value}).`)
    default:
      return 'stop'
  }
}

/**
 * Adds the reasoning, text and refusal of a message or delta, in the order in which a model produces them.
 * `fields` collects how the provider writes its reasoning. It is added before what follows the reasoning.
 */
export function addContentParts(parts: ReplyPart[], message: JsonObject, fields: ReasoningFields): void {
  addPart(parts, 'reasoning', reasoningTextOf(message))
  fields.add(message)
  if (hasMore(message)) parts.push(...fields.take())
  if (Array.isArray(message.content)) addChunks(parts, message.content)
  else addPart(parts, 'text', message.content)
  addPart(parts, 'refusal', message.refusal)
}

function hasMore({ content, refusal, tool_calls }: JsonObject): boolean {
  return Boolean(content || refusal || tool_calls)
}

function addPart(parts: ReplyPart[], type: 'reasoning' | 'text' | 'refusal', text: unknown): void {
  if (typeof text === 'string' && text !== '') parts.push({ type, text })
}

/**
 * Adds Mistral's content lists: `{type:"text", text}` and `{type:"thinking", thinking:[{type:"text", text}]}`
 * (docs/providers.md, "Mistral replies").
 */
function addChunks(parts: ReplyPart[], chunks: readonly unknown[]): void {
  for (const chunk of asObjects(chunks)) {
    if (chunk.type === 'thinking')
      for (const { text } of asObjects(chunk.thinking)) addPart(parts, 'reasoning', text)
    else addPart(parts, 'text', chunk.text)
  }
}

/**
 * Token counts. Undefined for records without any, which are all chunks of a stream but one. `tier`:
 * `service_tier` of the reply.
 */
export function toChatUsage(value: unknown, tier?: unknown): Usage | undefined {
  if (!isJsonObject(value)) return undefined
  const cached = cachedTokensOf(value)
  const cacheWrite = asTokens(asObject(value.prompt_tokens_details).cache_write_tokens)
  const reasoning = asTokens(asObject(value.completion_tokens_details).reasoning_tokens)
  const input = asTokens(value.prompt_tokens) ?? 0
  const completion = asTokens(value.completion_tokens) ?? 0
  // Some compatible providers, such as xAI, count reasoning in the total only.
  const isSeparate = value.total_tokens === input + completion + (reasoning ?? 0)
  return {
    input,
    output: isSeparate ? completion + (reasoning ?? 0) : completion,
    ...(cached !== undefined && { cached }),
    ...(cacheWrite !== undefined && { cacheWrite }),
    ...(reasoning !== undefined && { reasoning }),
    ...toPriceFactor({ tier }),
  }
}

/** OpenAI's field first, then the two of Mistral, then DeepSeek's. */
function cachedTokensOf(usage: JsonObject): number | undefined {
  return (
    asTokens(asObject(usage.prompt_tokens_details).cached_tokens) ??
    asTokens(asObject(usage.prompt_token_details).cached_tokens) ??
    asTokens(usage.num_cached_tokens) ??
    asTokens(usage.prompt_cache_hit_tokens)
  )
}
