import type { JsonObject, SseEvent } from '../../../core/contract/index.ts'
import { issueReasoning } from '../shared/issued-reasoning.ts'
import { countSearches, type ModelReply } from '../shared/model-reply.ts'
import { splitText } from '../shared/tokens.ts'
import type { StreamEvents } from '../shared/wire-format.ts'

/** Encodes a reply as a message. */
export function toAnthropicBody(reply: ModelReply): string {
  return JSON.stringify({ ...buildEmptyMessage(reply), content: toBlocks(reply), ...buildEnding(reply) })
}

/**
 * Encodes a reply as events: the message, its blocks in order, its ending; with a ping, as Anthropic sends.
 */
export function toAnthropicStream(reply: ModelReply): StreamEvents {
  const { usage, ...delta } = buildEnding(reply)
  return {
    content: [
      toEvent({ type: 'message_start', message: buildEmptyMessage(reply) }),
      toEvent({ type: 'ping' }),
      ...toBlocks(reply).flatMap(toBlockEvents),
    ],
    closing: [
      toEvent({ type: 'message_delta', delta: { container: null, ...delta }, usage }),
      toEvent({ type: 'message_stop' }),
    ],
  }
}

/** Builds the message as it is at the start of a stream. */
function buildEmptyMessage(reply: ModelReply): JsonObject {
  return {
    id: `msg_${reply.id}`,
    type: 'message',
    role: 'assistant',
    model: reply.model,
    container: null,
    content: [],
    diagnostics: null,
    stop_details: null,
    stop_reason: null,
    stop_sequence: null,
    usage: { ...toUsage(reply), output_tokens: 1 },
  }
}

/** Builds the complete content blocks: reasoning, text and tool calls. */
function toBlocks({ reasoning, text, toolCalls }: ModelReply): readonly JsonObject[] {
  const thinking =
    reasoning === undefined
      ? []
      : [{ type: 'thinking', thinking: reasoning, signature: issueReasoning('anthropic', reasoning) }]
  const texts = text === '' ? [] : [{ type: 'text', text }]
  const calls = toolCalls.map((call) => ({
    type: 'tool_use',
    id: call.id.replace(/^call_/, 'toolu_'),
    name: call.name,
    input: JSON.parse(call.argumentsJson || '{}'),
    caller: { type: 'direct' },
  }))
  return [...thinking, ...texts, ...calls]
}

/** Builds the fields that are known when the reply is complete: stop reason and usage. */
function buildEnding(reply: ModelReply): JsonObject {
  const { refusal, finish } = reply
  const details = refusal && { type: 'refusal', category: 'general_harms', explanation: refusal }
  return {
    stop_reason: STOP_REASONS[finish],
    stop_sequence: null,
    stop_details: details ?? null,
    usage: toUsage(reply),
  }
}

const STOP_REASONS: Readonly<Record<ModelReply['finish'], string>> = {
  stop: 'end_turn',
  length: 'max_tokens',
  tool_calls: 'tool_use',
  content_filter: 'refusal',
}

/** `input_tokens` excludes tokens read from or written to the cache. */
function toUsage(reply: ModelReply): JsonObject {
  const { usage } = reply
  const searches = countSearches(reply)
  const { input, output, cached = 0, cacheWrite = 0, reasoning } = usage
  return {
    input_tokens: input - cached - cacheWrite,
    cache_creation_input_tokens: cacheWrite,
    cache_read_input_tokens: cached,
    cache_creation: null,
    output_tokens: output,
    output_tokens_details: reasoning ? { thinking_tokens: reasoning } : null,
    server_tool_use: searches === 0 ? null : { web_search_requests: searches, web_fetch_requests: 0 },
    service_tier: usage.tier ?? 'standard',
    inference_geo: null,
    speed: null,
  }
}

function toEvent(data: JsonObject & { readonly type: string }): SseEvent {
  return { event: data.type, data: JSON.stringify(data) }
}

function toBlockEvents(block: JsonObject, index: number): readonly SseEvent[] {
  return [
    toEvent({ type: 'content_block_start', index, content_block: toEmptyBlock(block) }),
    ...toDeltas(block).map((delta) => toEvent({ type: 'content_block_delta', index, delta })),
    toEvent({ type: 'content_block_stop', index }),
  ]
}

/** Returns the block as it is before its deltas. */
function toEmptyBlock(block: JsonObject): JsonObject {
  switch (block.type) {
    case 'thinking':
      return { ...block, thinking: '', signature: '' }
    case 'tool_use':
      return { ...block, input: {} }
    default:
      return { ...block, text: '' }
  }
}

/** A tool call without arguments has no deltas. */
function toDeltas({ type, text, thinking, signature, input }: JsonObject): readonly JsonObject[] {
  switch (type) {
    case 'thinking':
      return [
        ...splitText(String(thinking)).map((piece) => ({ type: 'thinking_delta', thinking: piece })),
        { type: 'signature_delta', signature },
      ]
    case 'tool_use': {
      const json = JSON.stringify(input)
      const pieces = json === '{}' ? [] : splitText(json)
      return pieces.map((piece) => ({ type: 'input_json_delta', partial_json: piece }))
    }
    default:
      return splitText(String(text)).map((piece) => ({ type: 'text_delta', text: piece }))
  }
}
