import type { JsonObject, SseEvent } from '../../../core/contract/index.ts'
import type { StreamEvents } from '../format.ts'
import type { ModelReply, ModelToolCall } from '../model-request.ts'
import { toOpenAiUsage } from '../openai/reply.ts'
import { splitText } from '../tokens.ts'

/** An answer as one `chat.completion`. Thoughts make its content a list; `content_filter` is no reason that Mistral has. */
export function toMistralBody(answer: ModelReply): string {
  const { reasoning, text, toolCalls, finish } = answer
  const message = {
    role: 'assistant',
    tool_calls: toolCalls.length > 0 ? toolCalls.map(toToolCall) : null,
    content: reasoning === undefined ? text : [toThinkingChunk(reasoning, true), { type: 'text', text }],
  }
  return JSON.stringify({
    ...buildEnvelope(answer, 'chat.completion'),
    choices: [{ index: 0, message, finish_reason: finish }],
    usage: toUsage(answer),
  })
}

/** An answer as `chat.completion.chunk` records; tool calls, finish and usage share the last one. */
export function toMistralStream(answer: ModelReply): StreamEvents {
  const { reasoning = '', text, toolCalls, finish } = answer
  const envelope = buildEnvelope(answer, 'chat.completion.chunk')
  const chunk = (delta: JsonObject) =>
    toEvent({ ...envelope, choices: [{ index: 0, delta, finish_reason: null }] })
  const thoughts = splitText(reasoning).map((piece) => ({ content: [toThinkingChunk(piece, false)] }))
  const deltas = [
    { role: 'assistant', content: '' },
    ...thoughts,
    ...(thoughts.length > 0 ? [{ content: [toThinkingChunk('', true)] }] : []),
    ...splitText(text).map((content) => ({ content })),
  ]
  const end = { content: '', tool_calls: toolCalls.length > 0 ? toolCalls.map(toToolCall) : null }
  const last = toEvent({
    ...envelope,
    choices: [{ index: 0, delta: end, finish_reason: finish }],
    usage: toUsage(answer),
  })
  return { content: deltas.map(chunk), closing: [last, { event: '', data: '[DONE]' }] }
}

function toEvent(record: JsonObject): SseEvent {
  return { event: '', data: JSON.stringify(record) }
}

function buildEnvelope({ id, created, model }: ModelReply, object: string): JsonObject {
  return { id, object, created, model }
}

function toThinkingChunk(text: string, closed: boolean): JsonObject {
  return { type: 'thinking', thinking: text === '' ? [] : [{ type: 'text', text }], closed }
}

/** With an id of 9 letters and digits, the only kind that Mistral takes back. */
function toToolCall({ id, name, argumentsJson: json }: ModelToolCall, index: number): JsonObject {
  const short = `${id.replaceAll(/[^a-zA-Z0-9]/g, '').slice(-10, -2)}${index}`
  return { id: short, function: { name, arguments: json }, index }
}

function toUsage(answer: ModelReply): JsonObject {
  return { ...toOpenAiUsage(answer), num_cached_tokens: answer.usage.cached ?? 0 }
}
