import type { JsonObject } from '../../../core/contract/index.ts'
import type { Answer } from '../question.ts'

/** An answer as one message. */
export function writeWhole(answer: Answer): string {
  return JSON.stringify({ ...writeMessage(answer), content: writeBlocks(answer), ...writeEnd(answer) })
}

/** A message that has not said anything yet. */
export function writeMessage(answer: Answer): JsonObject {
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
    usage: { ...writeUsage(answer), output_tokens: 1 },
  }
}

/** Thoughts, text and tool calls, each complete. */
export function writeBlocks({ reasoning, text, toolCalls, id }: Answer): readonly JsonObject[] {
  const thoughts = reasoning === undefined ? [] : [{ type: 'thinking', thinking: reasoning, signature: id }]
  const texts = text === '' ? [] : [{ type: 'text', text, citations: null }]
  const calls = toolCalls.map((call) => ({
    type: 'tool_use',
    id: call.id.replace(/^call_/, 'toolu_'),
    name: call.name,
    input: JSON.parse(call.json),
    caller: { type: 'direct' },
  }))
  return [...thoughts, ...texts, ...calls]
}

/** How the answer ended, and what it cost. */
export function writeEnd(answer: Answer): JsonObject {
  const { refusal, finish } = answer
  const details = refusal && { type: 'refusal', category: 'general_harms', explanation: refusal }
  return {
    stop_reason: REASONS[finish],
    stop_sequence: null,
    stop_details: details ?? null,
    usage: writeUsage(answer),
  }
}

const REASONS: Readonly<Record<Answer['finish'], string>> = {
  stop: 'end_turn',
  length: 'max_tokens',
  tool_calls: 'tool_use',
  content_filter: 'refusal',
}

/** Cached input is counted beside the rest. */
function writeUsage({ usage }: Answer): JsonObject {
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
