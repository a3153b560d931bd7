import type { JsonObject } from '../../../core/contract/index.ts'
import { toOpenAiToolCall, toOpenAiToolCallDeltas, toOpenAiUsage } from '../openai/reply.ts'
import type { ModelReply, ModelToolCall } from '../shared/model-reply.ts'
import { splitText } from '../shared/tokens.ts'
import { type StreamEvents, toDataEvent } from '../shared/wire-format.ts'

/** Encodes a reply as a `chat.completion`, after the blank lines that DeepSeek sends to queued requests. */
export function toDeepSeekBody(reply: ModelReply): string {
  const { reasoning, text, toolCalls, finish } = reply
  const message = {
    role: 'assistant',
    content: text,
    ...(reasoning !== undefined && { reasoning_content: reasoning }),
    ...(toolCalls.length > 0 && { tool_calls: toolCalls.map(toIndexedToolCall) }),
  }
  const completion = {
    ...buildEnvelope(reply, 'chat.completion'),
    choices: [{ index: 0, message, logprobs: null, finish_reason: finish }],
    usage: toUsage(reply),
  }
  return `\n\n\n${JSON.stringify(completion)}`
}

/** Encodes a reply as `chat.completion.chunk` events: reasoning first, the usage with the finish reason. */
export function toDeepSeekStream(
  reply: ModelReply,
  isThinking: boolean,
  includesUsage: boolean,
): StreamEvents {
  const { reasoning = '', text, toolCalls, finish } = reply
  const envelope = buildEnvelope(reply, 'chat.completion.chunk')
  const toChunk = (delta: JsonObject, finish_reason: string | null = null, usage?: JsonObject) =>
    toDataEvent({
      ...envelope,
      choices: [{ index: 0, delta, logprobs: null, finish_reason }],
      ...(includesUsage && { usage: usage ?? null }),
    })
  const roleDelta = {
    role: 'assistant',
    ...(isThinking ? { content: null, reasoning_content: '' } : { content: '' }),
  }
  const reasoningDeltas = splitText(reasoning).map((piece) => ({ content: null, reasoning_content: piece }))
  const textDeltas = splitText(text).map((content) => ({
    content,
    ...(isThinking && { reasoning_content: null }),
  }))
  const toolCallDeltas = toolCalls.flatMap(toOpenAiToolCallDeltas)
  const deltas = [roleDelta, ...reasoningDeltas, ...textDeltas, ...toolCallDeltas]
  return {
    content: deltas.map((delta) => toChunk(delta)),
    closing: [toChunk({ content: '' }, finish, toUsage(reply)), { event: '', data: '[DONE]' }],
  }
}

function buildEnvelope({ id, created, model }: ModelReply, object: string): JsonObject {
  return { id, object, created, model, system_fingerprint: 'fp_sandbox' }
}

function toIndexedToolCall(call: ModelToolCall, index: number): JsonObject {
  return { index, ...toOpenAiToolCall(call) }
}

function toUsage(reply: ModelReply): JsonObject {
  const { input, cached = 0 } = reply.usage
  return {
    ...toOpenAiUsage(reply),
    prompt_cache_hit_tokens: cached,
    prompt_cache_miss_tokens: input - cached,
  }
}
