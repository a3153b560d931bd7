import type { JsonObject, SseEvent } from '../../../core/contract/index.ts'
import type { StreamEvents } from '../format.ts'
import type { ModelReply } from '../model-request.ts'
import { splitText } from '../tokens.ts'

/** An answer as one message. */
export function toAnthropicBody(answer: ModelReply): string {
  return JSON.stringify({ ...buildEmptyMessage(answer), content: toBlocks(answer), ...buildEnding(answer) })
}

/** A message that has not said anything yet. */
function buildEmptyMessage(answer: ModelReply): JsonObject {
  return {
    id: `msg_${answer.id}`,
    type: 'message',
    role: 'assistant',
    model: answer.model,
    container: null,
    content: [],
    diagnostics: null,
    stop_details: null,
    stop_reason: null,
    stop_sequence: null,
    usage: { ...toUsage(answer), output_tokens: 1 },
  }
}

/** Thoughts, text and tool calls, each complete. */
function toBlocks({ reasoning, text, toolCalls, id }: ModelReply): readonly JsonObject[] {
  const thoughts = reasoning === undefined ? [] : [{ type: 'thinking', thinking: reasoning, signature: id }]
  const texts = text === '' ? [] : [{ type: 'text', text, citations: null }]
  const calls = toolCalls.map((call) => ({
    type: 'tool_use',
    id: call.id.replace(/^call_/, 'toolu_'),
    name: call.name,
    input: JSON.parse(call.argumentsJson),
    caller: { type: 'direct' },
  }))
  return [...thoughts, ...texts, ...calls]
}

/** How the answer ended, and what it cost. */
function buildEnding(answer: ModelReply): JsonObject {
  const { refusal, finish } = answer
  const details = refusal && { type: 'refusal', category: 'general_harms', explanation: refusal }
  return {
    stop_reason: REASONS[finish],
    stop_sequence: null,
    stop_details: details ?? null,
    usage: toUsage(answer),
  }
}

const REASONS: Readonly<Record<ModelReply['finish'], string>> = {
  stop: 'end_turn',
  length: 'max_tokens',
  tool_calls: 'tool_use',
  content_filter: 'refusal',
}

/** Cached input is counted beside the rest. */
function toUsage({ usage }: ModelReply): JsonObject {
  const { input, output, cached = 0, cacheWrite = 0, reasoning } = usage
  return {
    input_tokens: input - cached - cacheWrite,
    cache_creation_input_tokens: cacheWrite,
    cache_read_input_tokens: cached,
    cache_creation: null,
    output_tokens: output,
    output_tokens_details: reasoning ? { thinking_tokens: reasoning } : null,
    server_tool_use: null,
    service_tier: 'standard',
    inference_geo: null,
    speed: null,
  }
}

/** An answer as events: the message, block after block, how it ended. As at Anthropic, a ping comes among them. */
export function toAnthropicStream(answer: ModelReply): StreamEvents {
  const { usage, ...delta } = buildEnding(answer)
  return {
    content: [
      toEvent({ type: 'message_start', message: buildEmptyMessage(answer) }),
      toEvent({ type: 'ping' }),
      ...toBlocks(answer).flatMap(toBlockEvents),
    ],
    closing: [
      toEvent({ type: 'message_delta', delta: { container: null, ...delta }, usage }),
      toEvent({ type: 'message_stop' }),
    ],
  }
}

function toEvent(event: JsonObject & { readonly type: string }): SseEvent {
  return { event: event.type, data: JSON.stringify(event) }
}

function toBlockEvents(block: JsonObject, index: number): readonly SseEvent[] {
  return [
    toEvent({ type: 'content_block_start', index, content_block: emptyBlock(block) }),
    ...toDeltas(block).map((delta) => toEvent({ type: 'content_block_delta', index, delta })),
    toEvent({ type: 'content_block_stop', index }),
  ]
}

/** The block before its deltas. */
function emptyBlock(block: JsonObject): JsonObject {
  switch (block.type) {
    case 'thinking':
      return { ...block, thinking: '', signature: '' }
    case 'tool_use':
      return { ...block, input: {} }
    default:
      return { ...block, text: '' }
  }
}

/** A call without arguments has no deltas. */
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
