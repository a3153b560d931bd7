import {
  type NativeRecord,
  type RecordPattern,
  ReplyEvent,
  type ReplyPart,
} from '../../core/contract/chat.ts'
import type { JsonObject } from '../../core/contract/json.ts'
import type { StreamReader } from '../../core/contract/provider.ts'
import { parseJsonObject } from '../../core/util/json.ts'
import { incompleteReplyError, malformedRecordError } from '../shared/errors.ts'
import { asObject, asString } from '../shared/fields.ts'
import { TextRecordMatcher } from '../shared/record-pattern.ts'
import { isChatErrorRecord, parseChatErrorRecord } from './errors.ts'
import { ReasoningFields } from './reasoning-fields.ts'
import { addContentParts, findFirstChoice, toChatFinishReason, toChatUsage } from './reply.ts'
import { createToolCallReader } from './tools.ts'

const NO_EVENTS: readonly ReplyEvent[] = []

/** Reads chat completion chunks: https://platform.openai.com/docs/api-reference/chat-streaming */
export function createChatStreamReader(): StreamReader {
  const readToolCalls = createToolCallReader()
  const reasoningFields = new ReasoningFields()
  const textRecords = new TextRecordMatcher('content', 'obfuscation')
  let hasStarted = false
  let hasFinished = false
  let isDone = false

  function toParts(chunk: JsonObject): readonly ReplyPart[] {
    const choice = findFirstChoice(chunk)
    const parts: ReplyPart[] = []
    if (choice && !hasStarted) {
      parts.push({ type: 'start', id: asString(chunk.id), model: asString(chunk.model) })
      hasStarted = true
    }
    const delta = asObject(choice?.delta)
    addContentParts(parts, delta, reasoningFields)
    if (delta.tool_calls !== undefined) parts.push(...readToolCalls(delta.tool_calls))
    const reason = toChatFinishReason(choice?.finish_reason)
    if (reason && !hasFinished) {
      parts.push({ type: 'finish', reason })
      hasFinished = true
    }
    // Some providers send the usage with the finish reason. Clients get it afterwards.
    const usage = toChatUsage(chunk.usage, chunk.service_tier)
    if (usage) parts.push({ type: 'usage', usage })
    return parts
  }

  return {
    isDone: () => isDone,
    read({ data }) {
      if (data.startsWith('[DONE]')) isDone = true
      if (isDone || data === '') return NO_EVENTS
      const text = textRecords.match(data)
      if (text !== undefined) {
        const parts: readonly ReplyPart[] = text === '' ? [] : [{ type: 'text', text }]
        return [new ReplyEvent(parts, new UnparsedTextRecord(data, textRecords.pattern))]
      }
      const chunk = parseChunk(data)
      if (isChatErrorRecord(chunk)) throw parseChatErrorRecord(chunk)
      const parts = toParts(chunk)
      textRecords.learn(data, chunk, parts)
      return [new ReplyEvent(parts, { record: chunk, source: data })]
    },
    readRun: (body, start) => (isDone ? undefined : textRecords.readRun(body, start, toUnparsedRecord)),
    end() {
      if (isDone || hasFinished) return NO_EVENTS
      throw incompleteReplyError()
    },
  }
}

/** The record of a text chunk that was not parsed; `record` parses it on access. */
class UnparsedTextRecord implements NativeRecord {
  readonly source: string
  readonly pattern: RecordPattern | undefined

  constructor(source: string, pattern: RecordPattern | undefined) {
    this.source = source
    this.pattern = pattern
  }

  get record(): JsonObject {
    return parseChunk(this.source)
  }
}

function toUnparsedRecord(source: string, pattern: RecordPattern): NativeRecord {
  return new UnparsedTextRecord(source, pattern)
}

function parseChunk(data: string): JsonObject {
  const chunk = parseJsonObject(data)
  if (chunk) return chunk
  throw malformedRecordError()
}
