import type { JsonObject } from '../../../core/contract/index.ts'
import { toOpenAiUsage } from '../openai/reply.ts'
import { type ModelReply, type ModelToolCall, toMediaPart } from '../shared/model-reply.ts'
import { splitText } from '../shared/tokens.ts'
import { type StreamEvents, toDataEvent } from '../shared/wire-format.ts'

/**
 * Encodes a reply as a `chat.completion`. With reasoning, the content is an array of chunks. Refusals have
 * the finish reason `content_filter`, which Mistral itself does not have.
 */
export function toMistralBody(reply: ModelReply): string {
  const { reasoning, text, media, toolCalls, finish } = reply
  const message = {
    role: 'assistant',
    tool_calls: toolCalls.length > 0 ? toolCalls.map(toToolCall) : null,
    content:
      reasoning === undefined && media === undefined
        ? text
        : [
            ...(reasoning === undefined ? [] : [toThinkingChunk(reasoning, true)]),
            { type: 'text', text },
            ...(media === undefined ? [] : [toMediaPart(media)]),
          ],
  }
  return JSON.stringify({
    ...buildEnvelope(reply, 'chat.completion'),
    choices: [{ index: 0, message, finish_reason: finish }],
    usage: toUsage(reply),
  })
}

/** Encodes a reply as `chat.completion.chunk` events; the last has tool calls, finish reason and usage. */
export function toMistralStream(reply: ModelReply): StreamEvents {
  const { reasoning = '', text, media, toolCalls, finish } = reply
  const envelope = buildEnvelope(reply, 'chat.completion.chunk')
  const toChunk = (delta: JsonObject) =>
    toDataEvent({ ...envelope, choices: [{ index: 0, delta, finish_reason: null }] })
  const reasoningDeltas = splitText(reasoning).map((piece) => ({ content: [toThinkingChunk(piece, false)] }))
  const deltas = [
    { role: 'assistant', content: '' },
    ...reasoningDeltas,
    ...(reasoningDeltas.length > 0 ? [{ content: [toThinkingChunk('', true)] }] : []),
    ...splitText(text).map((content) => ({ content })),
    ...(media === undefined ? [] : [{ content: [toMediaPart(media)] }]),
  ]
  const lastDelta = { content: '', tool_calls: toolCalls.length > 0 ? toolCalls.map(toToolCall) : null }
  const lastChunk = toDataEvent({
    ...envelope,
    choices: [{ index: 0, delta: lastDelta, finish_reason: finish }],
    usage: toUsage(reply),
  })
  return { content: deltas.map(toChunk), closing: [lastChunk, { event: '', data: '[DONE]' }] }
}

function buildEnvelope({ id, created, model, usage }: ModelReply, object: string): JsonObject {
  return { id, object, created, model, ...(usage.tier && { service_tier: usage.tier }) }
}

function toThinkingChunk(text: string, closed: boolean): JsonObject {
  return { type: 'thinking', thinking: text === '' ? [] : [{ type: 'text', text }], closed }
}

/** Uses an id of nine letters and digits, the only kind that Mistral accepts in later requests. */
function toToolCall({ id, name, argumentsJson }: ModelToolCall, index: number): JsonObject {
  const shortId = `${id.replaceAll(/[^a-zA-Z0-9]/g, '').slice(-10, -2)}${index}`
  return { id: shortId, function: { name, arguments: argumentsJson }, index }
}

function toUsage(reply: ModelReply): JsonObject {
  const { cached = 0, toolCalls } = reply.usage
  return { ...toOpenAiUsage(reply), num_cached_tokens: cached, ...(toolCalls && { connectors: toolCalls }) }
}
