import type { ReplyEvent } from '../../core/contract/chat.ts'
import type { JsonObject } from '../../core/contract/json.ts'
import type { SseEvent, StreamReader } from '../../core/contract/provider.ts'
import { parseJsonObject } from '../../core/util/json.ts'
import { createAnthropicStreamReader } from '../anthropic/stream.ts'
import { malformedRecordError } from '../shared/errors.ts'
import { asObject, asString } from '../shared/fields.ts'
import { toAnthropicCounts, toStopReason } from './converse-reply.ts'
import { parseBedrockException } from './errors.ts'
import { EXCEPTION } from './frames.ts'
import { isIntervention } from './guardrails.ts'
import { JSON_TOOL } from './response-format.ts'

const CONVERSE_EVENTS: ReadonlySet<string> = new Set([
  'messageStart',
  'contentBlockStart',
  'contentBlockDelta',
  'contentBlockStop',
  'messageStop',
  'metadata',
])

const MESSAGE_STOP = /"type"\s*:\s*"message_stop"/

/** Reads the events of Claude as they are, and those of ConverseStream as events of Anthropic. */
export function createBedrockStreamReader(): StreamReader {
  const reader = createAnthropicStreamReader()
  const toEvents = createEventConverter()
  let isIntervened = false

  function readChunk(record: SseEvent): readonly ReplyEvent[] {
    isIntervened ||= isIntervention(record.data)
    if (!isIntervened || !MESSAGE_STOP.test(record.data)) return reader.read(record)
    const refusal = toSse({ type: 'message_delta', delta: { stop_reason: 'refusal' } })
    return [...reader.read(refusal), ...reader.read(record)]
  }

  return {
    isDone: () => reader.isDone?.() ?? false,
    read(record) {
      if (record.event === 'chunk') return readChunk(record)
      if (record.event !== EXCEPTION && !CONVERSE_EVENTS.has(record.event)) return []
      const payload = parseJsonObject(record.data)
      if (payload === undefined) throw malformedRecordError()
      if (record.event === EXCEPTION) throw parseBedrockException(payload)
      return toEvents(record.event, payload).flatMap((event) => reader.read(toSse(event)))
    },
    end: () => reader.end(),
  }
}

function toSse(event: JsonObject): SseEvent {
  return { event: asString(event.type), data: JSON.stringify(event) }
}

/**
 * Blocks of text and reasoning begin with their first delta. The usage comes last:
 * https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html.
 */
function createEventConverter(): (event: string, payload: JsonObject) => readonly JsonObject[] {
  const open = new Set<unknown>()
  const jsonBlocks = new Set<unknown>()
  let end: JsonObject = {}

  function start(index: unknown, content_block: JsonObject): readonly JsonObject[] {
    if (open.has(index)) return []
    open.add(index)
    return [{ type: 'content_block_start', index, content_block }]
  }

  function onStart({ contentBlockIndex: index, start: block }: JsonObject): readonly JsonObject[] {
    const { toolUseId: id, name } = asObject(asObject(block).toolUse)
    if (name === undefined) return []
    if (name !== JSON_TOOL) return start(index, { type: 'tool_use', id, name, input: {} })
    jsonBlocks.add(index)
    return start(index, { type: 'text', text: '' })
  }

  function onDelta({ contentBlockIndex: index, delta }: JsonObject): readonly JsonObject[] {
    const { text, toolUse, reasoningContent } = asObject(delta)
    const toDelta = (delta: JsonObject) => ({ type: 'content_block_delta', index, delta })
    if (typeof text === 'string')
      return [...start(index, { type: 'text', text: '' }), toDelta({ type: 'text_delta', text })]
    if (toolUse !== undefined) {
      const partial_json = asString(asObject(toolUse).input)
      if (jsonBlocks.has(index)) return [toDelta({ type: 'text_delta', text: partial_json })]
      return [toDelta({ type: 'input_json_delta', partial_json })]
    }
    const { text: thinking, signature, redactedContent: data } = asObject(reasoningContent)
    if (data !== undefined) return start(index, { type: 'redacted_thinking', data })
    return [
      ...start(index, { type: 'thinking', thinking: '' }),
      ...(thinking === undefined ? [] : [toDelta({ type: 'thinking_delta', thinking })]),
      ...(signature === undefined ? [] : [toDelta({ type: 'signature_delta', signature })]),
    ]
  }

  return (event, payload) => {
    switch (event) {
      case 'messageStart':
        return [{ type: 'message_start', message: {} }]
      case 'contentBlockStart':
        return onStart(payload)
      case 'contentBlockDelta':
        return onDelta(payload)
      case 'contentBlockStop':
        return [{ type: 'content_block_stop', index: payload.contentBlockIndex }]
      case 'messageStop':
        end = { delta: { stop_reason: toStopReason(payload.stopReason, jsonBlocks.size > 0) } }
        return [{ type: 'message_delta', ...end }]
      case 'metadata': {
        const usage = toAnthropicCounts(asObject(payload.usage))
        return [{ type: 'message_delta', ...end, usage }, { type: 'message_stop' }]
      }
      default:
        return []
    }
  }
}
