import type { JsonObject, SseEvent } from '../../../core/contract/index.ts'
import type { StreamEvents } from '../format.ts'
import type { ModelReply, ModelToolCall } from '../model-request.ts'
import { splitText } from '../tokens.ts'

/** An answer as one `chat.completion`. */
export function toOpenAiBody(answer: ModelReply, unknownFields: readonly string[]): string {
  return JSON.stringify({
    ...buildEnvelope(answer, 'chat.completion', unknownFields),
    choices: [{ index: 0, message: toMessage(answer), logprobs: null, finish_reason: answer.finish }],
    usage: toOpenAiUsage(answer),
  })
}

/** An answer as `chat.completion.chunk` records: role, pieces, finish, usage where it was asked for, `[DONE]`. */
export function toOpenAiStream(
  answer: ModelReply,
  unknownFields: readonly string[],
  includesUsage: boolean,
): StreamEvents {
  const envelope = buildEnvelope(answer, 'chat.completion.chunk', unknownFields)
  const noUsage = includesUsage ? { usage: null } : {}
  const chunk = (delta: JsonObject, finish: string | null = null) =>
    toEvent({
      ...envelope,
      choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
      ...noUsage,
    })
  const usage = toEvent({ ...envelope, choices: [], usage: toOpenAiUsage(answer) })
  return {
    content: toDeltas(answer).map((delta) => chunk(delta)),
    closing: [chunk({}, answer.finish), ...(includesUsage ? [usage] : []), { event: '', data: '[DONE]' }],
  }
}

function toEvent(record: JsonObject): SseEvent {
  return { event: '', data: JSON.stringify(record) }
}

function buildEnvelope(answer: ModelReply, object: string, unknownFields: readonly string[]): JsonObject {
  return {
    id: `chatcmpl-${answer.id}`,
    object,
    created: answer.created,
    model: answer.model,
    service_tier: 'default',
    system_fingerprint: 'fp_sandbox',
    x_sandbox: { unknown_fields: unknownFields },
  }
}

function toMessage({ reasoning, text, refusal, toolCalls }: ModelReply): JsonObject {
  const thoughts = reasoning === undefined ? {} : { reasoning_content: reasoning }
  const message = { role: 'assistant', refusal: refusal ?? null, annotations: [], ...thoughts }
  if (toolCalls.length === 0) return { ...message, content: refusal === undefined ? text : null }
  return { ...message, content: null, tool_calls: toolCalls.map(toOpenAiToolCall) }
}

/** A call, whole. */
export function toOpenAiToolCall({ id, name, argumentsJson: json }: ModelToolCall): JsonObject {
  return { id, type: 'function', function: { name, arguments: json } }
}

function toDeltas({ reasoning = '', text, refusal = '', toolCalls }: ModelReply): readonly JsonObject[] {
  return [
    { role: 'assistant', content: toolCalls.length > 0 ? null : '', refusal: null },
    ...splitText(reasoning).map((piece) => ({ reasoning_content: piece })),
    ...splitText(text).map((content) => ({ content })),
    ...splitText(refusal).map((piece) => ({ refusal: piece })),
    ...toolCalls.flatMap(toOpenAiToolCallDeltas),
  ]
}

/** A call as it grows: its id and name, then its arguments in pieces. */
export function toOpenAiToolCallDeltas(call: ModelToolCall, index: number): readonly JsonObject[] {
  const opening = { index, ...toOpenAiToolCall({ ...call, argumentsJson: '' }) }
  const pieces = splitText(call.argumentsJson).map((json) => ({ index, function: { arguments: json } }))
  return [opening, ...pieces].map((piece) => ({ tool_calls: [piece] }))
}

/** Token counts. */
export function toOpenAiUsage({ usage }: ModelReply): JsonObject {
  const { input, output, cached = 0, reasoning = 0 } = usage
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: { cached_tokens: cached, audio_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: reasoning, audio_tokens: 0 },
  }
}
