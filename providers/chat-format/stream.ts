import type { RecordPattern, ReplyEvent, ReplyPart } from '../../core/contract/chat.ts'
import { GatewayError } from '../../core/contract/errors.ts'
import type { JsonObject } from '../../core/contract/json.ts'
import type { StreamReader } from '../../core/contract/provider.ts'
import { asObject, asString, parseObject } from '../shared/fields.ts'
import { RepeatedText } from '../shared/repeated-record.ts'
import { isFailure, readFailureRecord } from './errors.ts'
import { addContent, readChoice, readFinishReason, readUsage } from './reply.ts'
import { createToolCallReader } from './tools.ts'

const NOTHING: readonly ReplyEvent[] = []

/** Reads chat completion chunks: https://platform.openai.com/docs/api-reference/chat-streaming */
export function createChatStreamReader(): StreamReader {
  const readToolCalls = createToolCallReader()
  let started = false
  let finished = false
  let done = false
  const repeated = new RepeatedText('content', 'obfuscation')

  function readParts(chunk: JsonObject): readonly ReplyPart[] {
    const choice = readChoice(chunk)
    const parts: ReplyPart[] = []
    if (choice && !started) {
      parts.push({ type: 'start', id: asString(chunk.id), model: asString(chunk.model) })
      started = true
    }
    const delta = asObject(choice?.delta)
    addContent(parts, delta)
    if (delta.tool_calls !== undefined) parts.push(...readToolCalls(delta.tool_calls))
    const reason = readFinishReason(choice?.finish_reason)
    if (reason && !finished) {
      parts.push({ type: 'finish', reason })
      finished = true
    }
    // Some providers send it with the end. To clients it comes after.
    const usage = readUsage(chunk.usage)
    if (usage) parts.push({ type: 'usage', usage })
    return parts
  }

  return {
    isDone: () => done,
    read({ data }) {
      if (data.startsWith('[DONE]')) done = true
      if (done || data === '') return NOTHING
      const text = repeated.read(data)
      if (text !== undefined) return [new TextChunk(text, data, repeated.pattern)]
      const chunk = parseChunk(data)
      if (isFailure(chunk)) throw readFailureRecord(chunk)
      const parts = readParts(chunk)
      repeated.learn(data, parts)
      return [{ parts, native: chunk, source: data }]
    },
    end() {
      if (done || finished) return NOTHING
      throw new GatewayError('provider_error', 'The provider stopped before the end of its reply.')
    },
  }
}

/** A chunk that repeats an earlier one but for its text; what else it holds is read when somebody asks. */
class TextChunk implements ReplyEvent {
  readonly parts: readonly ReplyPart[]
  readonly source: string
  readonly pattern: RecordPattern | undefined

  constructor(text: string, source: string, pattern: RecordPattern | undefined) {
    this.parts = text === '' ? [] : [{ type: 'text', text }]
    this.source = source
    this.pattern = pattern
  }

  get native(): JsonObject {
    return parseChunk(this.source)
  }
}

function parseChunk(data: string): JsonObject {
  const chunk = parseObject(data)
  if (chunk) return chunk
  throw new GatewayError('provider_error', 'The provider sent a malformed record.')
}
