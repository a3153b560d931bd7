import type { JsonObject } from '../../core/contract/json.ts'
import { asObject, asObjects } from '../shared/fields.ts'
import { JSON_TOOL } from './response-format.ts'

export function isConverseReply(body: unknown): boolean {
  return asObject(body).output !== undefined
}

/**
 * A reply of Converse as a message of Anthropic, which has the same parts:
 * https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html.
 */
export function toAnthropicMessage({ output, stopReason, usage }: JsonObject): JsonObject {
  const blocks = asObjects(asObject(asObject(output).message).content)
  const isJson = blocks.some(({ toolUse }) => asObject(toolUse).name === JSON_TOOL)
  return {
    type: 'message',
    role: 'assistant',
    content: blocks.map(toBlock),
    stop_reason: toStopReason(stopReason, isJson),
    usage: toAnthropicCounts(asObject(usage)),
  }
}

function toBlock(block: JsonObject): JsonObject {
  const { text, toolUse, reasoningContent } = block
  if (typeof text === 'string') return { type: 'text', text }
  if (toolUse !== undefined) {
    const { toolUseId, name, input } = asObject(toolUse)
    if (name === JSON_TOOL) return { type: 'text', text: JSON.stringify(input) }
    return { type: 'tool_use', id: toolUseId, name, input }
  }
  if (reasoningContent !== undefined) {
    const { reasoningText, redactedContent } = asObject(reasoningContent)
    if (redactedContent !== undefined) return { type: 'redacted_thinking', data: redactedContent }
    const { text: thinking, signature } = asObject(reasoningText)
    return { type: 'thinking', thinking, signature }
  }
  return { type: 'bedrock', ...block }
}

/** `isJson`: the call stands for the JSON that was asked for. */
export function toStopReason(reason: unknown, isJson: boolean): unknown {
  switch (reason) {
    case 'guardrail_intervened':
    case 'content_filtered':
      return 'refusal'
    case 'tool_use':
      return isJson ? 'end_turn' : 'tool_use'
    default:
      return reason ?? 'end_turn'
  }
}

/** As those of Anthropic, `inputTokens` do not include cached ones. */
export function toAnthropicCounts(usage: JsonObject): JsonObject {
  const hour = asObjects(usage.cacheDetails).find(({ ttl }) => ttl === '1h')
  return {
    input_tokens: usage.inputTokens,
    output_tokens: usage.outputTokens,
    cache_read_input_tokens: usage.cacheReadInputTokens,
    cache_creation_input_tokens: usage.cacheWriteInputTokens,
    ...(hour && { cache_creation: { ephemeral_1h_input_tokens: hour.inputTokens } }),
  }
}
