import { type ChatRequest, type FinishReason, ReplyEvent, type ReplyPart } from '../../core/contract/chat.ts'
import type { JsonObject } from '../../core/contract/json.ts'
import { NATIVE, type NativeRecord, type RecordPattern } from '../../core/contract/native-records.ts'
import { parseJsonObject } from '../../core/util/json.ts'
import { incompleteReplyError, malformedRecordError } from '../shared/errors.ts'
import { asObject, asString } from '../shared/fields.ts'
import { TextRecordMatcher } from '../shared/record-pattern.ts'
import type { RunReader } from '../shared/text-run.ts'
import { isChatErrorRecord, parseChatErrorRecord } from './errors.ts'
import { ReasoningFields } from './reasoning-fields.ts'
import {
  addContentParts,
  citesPages,
  findFirstChoice,
  toChatFinishReason,
  toChatUsage,
  usageOf,
} from './reply.ts'
import { StreamStart } from './text-forms.ts'
import { ToolCallReader, toolNamesOf } from './tools.ts'

const NO_EVENTS: readonly ReplyEvent[] = []

/**
 * Reads chat completion chunks: https://platform.openai.com/docs/api-reference/chat-streaming. The finish is
 * held back until the next record: some providers send one with every record, so the last one counts.
 */
export function createChatStreamReader(request?: ChatRequest): RunReader {
  const toolCalls = new ToolCallReader(toolNamesOf(request))
  const reasoningFields = new ReasoningFields()
  const textRecords = new TextRecordMatcher('content', 'obfuscation')
  let hasStarted = false
  /** The first chunk, until the form of the text chunks is known. */
  let first: { readonly start: StreamStart; readonly chunk: JsonObject } | undefined
  /** The number of the choice that is read. */
  let choiceIndex: unknown
  /** The latest finish reason. */
  let finish: FinishReason | undefined
  /** The event with it, until the next one arrives. */
  let held: ReplyEvent | undefined
  let isFinishSent = false
  let isDone = false
  let tier: unknown
  let hasSearched = false

  function toParts(chunk: JsonObject): readonly ReplyPart[] {
    const choice = findFirstChoice(chunk, choiceIndex)
    const parts: ReplyPart[] = []
    let delta = asObject(choice?.delta)
    if (choice && !hasStarted) {
      // Some providers send a whole message in place of a stream.
      if (choice.delta === undefined) delta = asObject(choice.message)
      choiceIndex = choice.index ?? 0
      parts.push({ type: 'start', id: asString(chunk.id), model: asString(chunk.model) })
      hasStarted = true
    }
    addContentParts(parts, delta, reasoningFields)
    if (delta.tool_calls !== undefined) parts.push(...toolCalls.read(delta.tool_calls))
    const reason = toChatFinishReason(choice?.finish_reason)
    if (reason) parts.push(...toolCalls.flush(), { type: 'finish', reason })
    // Some providers send the usage with the finish reason. Clients get it afterwards.
    tier = chunk.service_tier ?? tier
    hasSearched ||= citesPages(delta)
    const usage = toChatUsage(usageOf(chunk, choice), tier, hasSearched)
    if (usage) parts.push({ type: 'usage', usage })
    return parts
  }

  function learnTexts(source: string, chunk: JsonObject, parts: readonly ReplyPart[]): void {
    const before = textRecords.pattern
    textRecords.learn(source, chunk, parts)
    if (first === undefined || textRecords.pattern === before || textRecords.pattern === undefined) return
    first.start.remember(first.chunk, textRecords.pattern)
    first = undefined
  }

  /** Returns an event, or holds it back if it has the finish. The finish goes behind content that follows. */
  function pass(event: ReplyEvent): readonly ReplyEvent[] {
    const end = event.parts.find((part) => part.type === 'finish')
    if (finish === undefined && end === undefined) return [event]
    const isFirst = finish === undefined
    const hasContent = event.parts.some(({ type }) => type !== 'finish' && type !== 'usage')
    const before = held
    if (!isFirst && !hasContent) {
      held = undefined
      isFinishSent ||= before !== undefined
      return [...(before ? [before] : []), withoutFinish(event)]
    }
    finish = end?.reason ?? finish
    held = end && event
    const earlier = before ? [withoutFinish(before)] : NO_EVENTS
    return end === undefined ? [...earlier, event] : earlier
  }

  /** Returns the finish if it was not sent. A reply without one is complete if `[DONE]` follows it. */
  function close(): readonly ReplyEvent[] {
    if (isFinishSent) return NO_EVENTS
    if (!hasStarted || (finish === undefined && !isDone)) throw incompleteReplyError()
    isFinishSent = true
    return [held ?? new ReplyEvent([...toolCalls.flush(), { type: 'finish', reason: finish ?? 'stop' }])]
  }

  return {
    isDone: () => isDone,
    read({ data }) {
      if (isDone || data === '') return NO_EVENTS
      if (data.startsWith('[DONE]')) {
        isDone = true
        return close()
      }
      const text = textRecords.match(data)
      if (text !== undefined) {
        const parts: readonly ReplyPart[] = text === '' ? [] : [{ type: 'text', text }]
        const event = new ReplyEvent(parts, new UnparsedTextRecord(data, textRecords.pattern))
        return finish === undefined ? [event] : pass(event)
      }
      const start = hasStarted ? undefined : StreamStart.read(data)
      const chunk = start?.chunk ?? parseChunk(data)
      if (isChatErrorRecord(chunk)) throw parseChatErrorRecord(chunk)
      const parts = toParts(chunk)
      if (!isOneChoice(chunk)) return pass(new ReplyEvent(parts))
      if (start === undefined) learnTexts(data, chunk, parts)
      else if (parts.length === 1 && parts[0]?.type === 'start') {
        first = { start, chunk }
        textRecords.expect(start.expected)
      }
      return pass(new ReplyEvent(parts, { record: chunk, source: data }))
    },
    readRun: (body, start, isAscii) =>
      isDone || finish !== undefined
        ? undefined
        : textRecords.readRun(body, start, isAscii, toUnparsedRecord),
    end: close,
  }
}

/**
 * False for a record with several choices, with another one than 0, or with a message in place of a delta:
 * only its parts are passed on.
 */
function isOneChoice({ choices }: JsonObject): boolean {
  if (!Array.isArray(choices) || choices.length === 0) return true
  const [choice] = choices
  return choices.length === 1 && Number(choice?.index ?? 0) === 0 && choice?.message === undefined
}

function withoutFinish(event: ReplyEvent): ReplyEvent {
  const { parts } = event
  if (parts.every(({ type }) => type !== 'finish')) return event
  return new ReplyEvent(
    parts.filter(({ type }) => type !== 'finish'),
    event[NATIVE],
  )
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
