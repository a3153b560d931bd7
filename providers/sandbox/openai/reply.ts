import type { JsonObject } from '../../../core/contract/index.ts'
import {
  countSearches,
  type ModelReply,
  type ModelToolCall,
  toAnnotations,
  toMediaPart,
} from '../shared/model-reply.ts'
import { splitText } from '../shared/tokens.ts'
import { type StreamEvents, toDataEvent } from '../shared/wire-format.ts'

/** Encodes a reply as a `chat.completion`. */
export function toOpenAiBody(reply: ModelReply, unknownFields: readonly string[]): string {
  return JSON.stringify({
    ...buildEnvelope(reply, 'chat.completion', unknownFields),
    choices: [{ index: 0, message: toMessage(reply), logprobs: null, finish_reason: reply.finish }],
    usage: toOpenAiUsage(reply),
  })
}

/** Encodes a reply as `chat.completion.chunk` events: role, pieces, finish, usage if requested, `[DONE]`. */
export function toOpenAiStream(
  reply: ModelReply,
  unknownFields: readonly string[],
  includesUsage: boolean,
): StreamEvents {
  const envelope = buildEnvelope(reply, 'chat.completion.chunk', unknownFields)
  const nullUsage = includesUsage ? { usage: null } : {}
  const toChunk = (delta: JsonObject, finish: string | null = null) =>
    toDataEvent({
      ...envelope,
      choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
      ...nullUsage,
    })
  const usage = toDataEvent({ ...envelope, choices: [], usage: toOpenAiUsage(reply) })
  return {
    content: toDeltas(reply).map((delta) => toChunk(delta)),
    closing: [toChunk({}, reply.finish), ...(includesUsage ? [usage] : []), { event: '', data: '[DONE]' }],
  }
}

function buildEnvelope(reply: ModelReply, object: string, unknownFields: readonly string[]): JsonObject {
  return {
    id: `chatcmpl-${reply.id}`,
    object,
    created: reply.created,
    model: reply.model,
    service_tier: reply.usage.tier ?? 'default',
    system_fingerprint: 'fp_sandbox',
    x_sandbox: { unknown_fields: unknownFields },
  }
}

function toMessage(reply: ModelReply): JsonObject {
  const { reasoning, reasoningField: field, text, refusal, toolCalls } = reply
  const reasoningField = reasoning === undefined ? {} : { [field ?? 'reasoning_content']: reasoning }
  const message = {
    role: 'assistant',
    refusal: refusal ?? null,
    annotations: toAnnotations(reply),
    ...reasoningField,
    ...toMedia(reply),
  }
  if (toolCalls.length === 0) return { ...message, content: refusal === undefined ? text : null }
  return { ...message, content: null, tool_calls: toolCalls.map(toOpenAiToolCall) }
}

/** Images have the form of OpenRouter. */
function toMedia({ media }: ModelReply): JsonObject {
  return media === 'image' ? { images: [toMediaPart(media)] } : {}
}

export function toOpenAiToolCall({ id, name, argumentsJson }: ModelToolCall): JsonObject {
  return { id, type: 'function', function: { name, arguments: argumentsJson } }
}

function toDeltas(reply: ModelReply): readonly JsonObject[] {
  const { reasoning = '', reasoningField, text, refusal = '', media, toolCalls } = reply
  return [
    { role: 'assistant', content: toolCalls.length > 0 ? null : '', refusal: null },
    ...splitText(reasoning).map((piece) => ({ [reasoningField ?? 'reasoning_content']: piece })),
    ...splitText(text).map((content) => ({ content })),
    ...splitText(refusal).map((piece) => ({ refusal: piece })),
    ...(media === 'image' ? [{ images: [toMediaPart(media)] }] : []),
    ...toolCalls.flatMap(toOpenAiToolCallDeltas),
    ...(countSearches(reply) > 0 ? [{ annotations: toAnnotations(reply) }] : []),
  ]
}

/** Encodes a tool call as deltas: first its id and name, then its arguments in pieces. */
export function toOpenAiToolCallDeltas(call: ModelToolCall, index: number): readonly JsonObject[] {
  const opening = { index, ...toOpenAiToolCall({ ...call, argumentsJson: '' }) }
  const pieces = splitText(call.argumentsJson).map((piece) => ({ index, function: { arguments: piece } }))
  return [opening, ...pieces].map((delta) => ({ tool_calls: [delta] }))
}

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
