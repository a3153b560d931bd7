import type { JsonObject, SseEvent } from '../../../core/contract/index.ts'
import type { StreamEvents } from '../format.ts'
import type { ModelReply } from '../model-request.ts'
import { toOpenAiToolCall, toOpenAiToolCallDeltas, toOpenAiUsage } from '../openai/reply.ts'
import { splitText } from '../tokens.ts'

/** An answer as one `chat.completion`, after the blank lines that DeepSeek sends while the request is queued. */
export function toDeepSeekBody(answer: ModelReply): string {
  const { reasoning, text, toolCalls, finish } = answer
  const message = {
    role: 'assistant',
    content: text,
    ...(reasoning !== undefined && { reasoning_content: reasoning }),
    ...(toolCalls.length > 0 && { tool_calls: toolCalls.map(toIndexedToolCall) }),
  }
  const completion = {
    ...buildEnvelope(answer, 'chat.completion'),
    choices: [{ index: 0, message, logprobs: null, finish_reason: finish }],
    usage: toUsage(answer),
  }
  return `\n\n\n${JSON.stringify(completion)}`
}

/** An answer as `chat.completion.chunk` records: thoughts first, and the usage with the finish. */
export function toDeepSeekStream(answer: ModelReply, thinks: boolean, includesUsage: boolean): StreamEvents {
  const { reasoning = '', text, toolCalls, finish } = answer
  const envelope = buildEnvelope(answer, 'chat.completion.chunk')
  const chunk = (delta: JsonObject, finish_reason: string | null = null, usage?: JsonObject) =>
    toEvent({
      ...envelope,
      choices: [{ index: 0, delta, logprobs: null, finish_reason }],
      ...(includesUsage && { usage: usage ?? null }),
    })
  const thoughts = splitText(reasoning).map((piece) => ({ content: null, reasoning_content: piece }))
  const words = splitText(text).map((content) => ({
    content,
    ...(thinks && { reasoning_content: null }),
  }))
  const role = { role: 'assistant', ...(thinks ? { content: null, reasoning_content: '' } : { content: '' }) }
  const deltas = [role, ...thoughts, ...words, ...toolCalls.flatMap(toOpenAiToolCallDeltas)]
  return {
    content: deltas.map((delta) => chunk(delta)),
    closing: [chunk({ content: '' }, finish, toUsage(answer)), { event: '', data: '[DONE]' }],
  }
}

function toEvent(record: JsonObject): SseEvent {
  return { event: '', data: JSON.stringify(record) }
}

function buildEnvelope({ id, created, model }: ModelReply, object: string): JsonObject {
  return { id, object, created, model, system_fingerprint: 'fp_sandbox' }
}

function toIndexedToolCall(call: ModelReply['toolCalls'][number], index: number): JsonObject {
  return { index, ...toOpenAiToolCall(call) }
}

function toUsage(answer: ModelReply): JsonObject {
  const { input, cached = 0 } = answer.usage
  return {
    ...toOpenAiUsage(answer),
    prompt_cache_hit_tokens: cached,
    prompt_cache_miss_tokens: input - cached,
  }
}
