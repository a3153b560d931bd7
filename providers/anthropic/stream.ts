import type { ReplyPart } from '../../core/contract/chat.ts'
import type { JsonObject } from '../../core/contract/json.ts'
import type { StreamReader } from '../../core/contract/provider.ts'
import { parseJsonObject } from '../../core/util/json.ts'
import { addToChecksum, EMPTY_CHECKSUM } from '../../core/util/text-checksum.ts'
import { incompleteReplyError, malformedRecordError } from '../shared/errors.ts'
import { asNumber, asObject, asString, toArgumentsJson } from '../shared/fields.ts'
import { TextRecordMatcher } from '../shared/record-pattern.ts'
import { toReplyEvents } from '../shared/stream.ts'
import { isAnthropicErrorRecord, parseAnthropicErrorRecord } from './errors.ts'
import {
  createExtraBlockReader,
  toBlockStart,
  toExtraPart,
  toMessageParts,
  toSignaturePart,
} from './extra-parts.ts'
import { toAnthropicFinishReason, toAnthropicUsage, toRefusalParts, toTextParts } from './reply.ts'

const NO_PARTS: readonly ReplyPart[] = []

/**
 * Reads the events of a message (docs/providers.md, "Anthropic"). Unknown events are ignored. The
 * finish reason and the usage come last.
 */
export function createAnthropicStreamReader(): StreamReader {
  const toolCalls = createToolUseReader()
  const extraBlocks = createExtraBlockReader()
  const textRecords = new TextRecordMatcher('text')
  let usage: JsonObject = {}
  let messageDelta: JsonObject = {}
  let previousType: unknown
  let thinkingChecksum = EMPTY_CHECKSUM
  let isDone = false

  function toParts(event: JsonObject): readonly ReplyPart[] {
    switch (event.type) {
      case 'message_start':
        return onMessageStart(asObject(event.message))
      case 'content_block_start':
        return onBlockStart(event, asObject(event.content_block))
      case 'content_block_delta':
        return onBlockDelta(event, asObject(event.delta))
      case 'content_block_stop':
        return [...toolCalls.onStop(event.index), ...extraBlocks.onStop(event.index)]
      case 'message_delta':
        return onMessageDelta(event)
      case 'message_stop':
        return onMessageStop()
      default:
        if (isAnthropicErrorRecord(event)) throw parseAnthropicErrorRecord(event)
        return NO_PARTS
    }
  }

  /** The usage at the start has the input, for replies that end early. */
  function onMessageStart(message: JsonObject): readonly ReplyPart[] {
    usage = asObject(message.usage)
    const parts: readonly ReplyPart[] = [
      { type: 'start', id: asString(message.id), model: asString(message.model) },
      ...toMessageParts(message),
    ]
    return asNumber(usage.input_tokens) === undefined
      ? parts
      : [...parts, { type: 'usage', usage: toAnthropicUsage(usage) }]
  }

  function onBlockStart({ index }: JsonObject, block: JsonObject): readonly ReplyPart[] {
    const start = toBlockStart(block, previousType)
    previousType = block.type
    thinkingChecksum = EMPTY_CHECKSUM
    switch (block.type) {
      case 'tool_use':
        return [...start, ...toolCalls.onStart(index, block)]
      case 'text':
        return [...start, ...toTextParts('text', block.text)]
      case 'thinking':
        return [...start, ...onThinking(block.thinking)]
      default:
        extraBlocks.onStart(index, block)
        return NO_PARTS
    }
  }

  function onThinking(text: unknown): readonly ReplyPart[] {
    thinkingChecksum = addToChecksum(thinkingChecksum, asString(text))
    return toTextParts('reasoning', text)
  }

  function onBlockDelta({ index }: JsonObject, delta: JsonObject): readonly ReplyPart[] {
    switch (delta.type) {
      case 'text_delta':
        return toTextParts('text', delta.text)
      case 'thinking_delta':
        return onThinking(delta.thinking)
      case 'input_json_delta':
        extraBlocks.onDelta(index, delta)
        return toolCalls.onDelta(index, asString(delta.partial_json))
      case 'signature_delta':
        return toSignaturePart(delta.signature, thinkingChecksum)
      case 'citations_delta':
        return [toExtraPart('delta', delta)]
      default:
        extraBlocks.onDelta(index, delta)
        return NO_PARTS
    }
  }

  /** Token counts are cumulative: each replaces the previous value, except where it is missing. */
  function onMessageDelta(event: JsonObject): readonly ReplyPart[] {
    const counts = Object.entries(asObject(event.usage)).filter(([, count]) => count !== null)
    usage = { ...usage, ...Object.fromEntries(counts) }
    messageDelta = asObject(event.delta)
    return NO_PARTS
  }

  function onMessageStop(): readonly ReplyPart[] {
    isDone = true
    return [
      ...toMessageParts({ ...messageDelta, usage }),
      ...toRefusalParts(messageDelta),
      { type: 'finish', reason: toAnthropicFinishReason(messageDelta.stop_reason) },
      { type: 'usage', usage: toAnthropicUsage(usage) },
    ]
  }

  return {
    isDone: () => isDone,
    read({ data }) {
      if (isDone || data === '') return []
      const text = textRecords.match(data)
      if (text !== undefined) return toReplyEvents(toTextParts('text', text))
      const event = parseJsonObject(data)
      if (!event) throw malformedRecordError()
      const parts = toParts(event)
      if (event.type === 'content_block_delta') textRecords.learn(data, event, parts)
      return toReplyEvents(parts)
    },
    end() {
      if (isDone) return []
      // Some compatible providers send no `message_stop`.
      if (asString(messageDelta.stop_reason) !== '') return toReplyEvents(onMessageStop())
      throw incompleteReplyError()
    },
  }
}

/** Reads the `tool_use` blocks of a stream, which are identified by the index of their block. Stateful. */
interface ToolUseReader {
  onStart(blockIndex: unknown, block: JsonObject): readonly ReplyPart[]
  onDelta(blockIndex: unknown, json: string): readonly ReplyPart[]
  /** Returns the arguments of a call that had no deltas. */
  onStop(blockIndex: unknown): readonly ReplyPart[]
}

interface OpenToolUse {
  readonly index: number
  readonly input: unknown
  hasJson: boolean
}

/** Numbers the calls from 0 without gaps: the blocks between them hold text and thinking. */
function createToolUseReader(): ToolUseReader {
  const calls = new Map<unknown, OpenToolUse>()
  let count = 0
  return {
    onStart(blockIndex, { id, name, input }) {
      const index = count++
      calls.set(blockIndex, { index, input, hasJson: false })
      return [{ type: 'tool-start', index, id: asString(id), name: asString(name) }]
    },
    onDelta(blockIndex, json) {
      const call = calls.get(blockIndex)
      if (!call || json === '') return []
      call.hasJson = true
      return [{ type: 'tool-json', index: call.index, json }]
    },
    onStop(blockIndex) {
      const call = calls.get(blockIndex)
      if (!call || call.hasJson) return []
      call.hasJson = true
      return [{ type: 'tool-json', index: call.index, json: toArgumentsJson(call.input) }]
    },
  }
}
