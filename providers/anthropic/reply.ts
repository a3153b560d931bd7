import { type FinishReason, ReplyEvent, type ReplyPart, type Usage } from '../../core/contract/chat.ts'
import type { JsonObject } from '../../core/contract/json.ts'
import { toPriceFactor, toServedTier, toToolCalls } from '../../core/prices/price-terms.ts'
import { addToChecksum, EMPTY_CHECKSUM } from '../../core/util/text-checksum.ts'
import { unusableReplyError } from '../shared/errors.ts'
import { asObject, asObjects, asString, asTokens, toArgumentsJson } from '../shared/fields.ts'
import { isAnthropicErrorRecord, parseAnthropicErrorRecord } from './errors.ts'
import { toBlockStart, toExtraPart, toMessageParts, toSignaturePart } from './extra-parts.ts'

/**
 * Parses a message (docs/providers.md, "Anthropic"). Throws a `GatewayError` for an error body and
 * for any other value.
 */
export function parseAnthropicReply(body: unknown): ReplyEvent {
  const message = asObject(body)
  if (isAnthropicErrorRecord(message)) throw parseAnthropicErrorRecord(message)
  if (!Array.isArray(message.content)) {
    throw unusableReplyError("The provider's reply is not a message.")
  }
  return new ReplyEvent([
    { type: 'start', id: asString(message.id), model: asString(message.model) },
    ...toBlockParts(asObjects(message.content)),
    ...toMessageParts(message),
    ...toRefusalParts(message),
    { type: 'usage', usage: toAnthropicUsage(asObject(message.usage)) },
    { type: 'finish', reason: toAnthropicFinishReason(message.stop_reason) },
  ])
}

/** Parses a count of input tokens. Throws a `GatewayError` for any other value. */
export function parseTokenCount(body: unknown): number {
  const tokens = asTokens(asObject(body).input_tokens)
  if (tokens !== undefined) return tokens
  throw unusableReplyError("The provider's reply is not a count of tokens.")
}

function toBlockParts(blocks: readonly JsonObject[]): readonly ReplyPart[] {
  let calls = 0
  return blocks.flatMap((block, index): readonly ReplyPart[] => {
    const start = () => toBlockStart(block, blocks[index - 1]?.type)
    switch (block.type) {
      case 'tool_use':
        return [...start(), ...toToolCallParts(block, calls++)]
      case 'text':
        return [...start(), ...toTextParts('text', block.text), ...toCitationParts(block)]
      case 'thinking':
        return [...start(), ...toThinkingParts(block)]
      default:
        return [toExtraPart('block', block)]
    }
  })
}

function toToolCallParts({ id, name, input }: JsonObject, index: number): readonly ReplyPart[] {
  return [
    { type: 'tool-start', index, id: asString(id), name: asString(name) },
    { type: 'tool-json', index, json: toArgumentsJson(input) },
  ]
}

function toCitationParts({ citations }: JsonObject): readonly ReplyPart[] {
  return asObjects(citations).map((citation) => toExtraPart('delta', { type: 'citations_delta', citation }))
}

function toThinkingParts({ thinking, signature }: JsonObject): readonly ReplyPart[] {
  const checksum = addToChecksum(EMPTY_CHECKSUM, asString(thinking))
  return [...toTextParts('reasoning', thinking), ...toSignaturePart(signature, checksum)]
}

/** Why the model refused, if a message or `message_delta` explains it. */
export function toRefusalParts({ stop_details }: JsonObject): readonly ReplyPart[] {
  return toTextParts('refusal', asObject(stop_details).explanation)
}

/** One part, or none for an empty text. */
export function toTextParts(type: 'text' | 'reasoning' | 'refusal', text: unknown): readonly ReplyPart[] {
  return typeof text === 'string' && text !== '' ? [{ type, text }] : []
}

/**
 * Token counts, any of which may be null. Anthropic's `input_tokens` does not include cached tokens
 * (docs/providers.md, "Anthropic").
 */
export function toAnthropicUsage(usage: JsonObject): Usage {
  const cached = asTokens(usage.cache_read_input_tokens)
  const cacheWrite = asTokens(usage.cache_creation_input_tokens)
  const reasoning = asTokens(asObject(usage.output_tokens_details).thinking_tokens)
  const cacheWriteHour = asTokens(asObject(usage.cache_creation).ephemeral_1h_input_tokens)
  return {
    input: (asTokens(usage.input_tokens) ?? 0) + (cached ?? 0) + (cacheWrite ?? 0),
    output: asTokens(usage.output_tokens) ?? 0,
    ...(cached !== undefined && { cached }),
    ...(cacheWrite !== undefined && { cacheWrite }),
    ...(cacheWriteHour && { cacheWriteHour }),
    ...(reasoning !== undefined && { reasoning }),
    ...toPriceFactor(usage.speed, usage.inference_geo),
    ...toServedTier(usage.service_tier),
    ...toToolCalls(usage.server_tool_use),
  }
}

/** Maps a `stop_reason` (docs/providers.md, "Anthropic"). An unknown reason counts as `stop`. */
export function toAnthropicFinishReason(value: unknown): FinishReason {
  switch (value) {
    case 'max_tokens':
    case 'model_context_window_exceeded':
    case 'length': // Of providers that are compatible.
      return 'length'
    case 'tool_use':
      return 'tool_calls'
    case 'refusal':
      return 'content_filter'
    default:
      return 'stop'
  }
}
