import { GatewayError } from '../../core/contract/errors.ts'
import { isJsonObject, type JsonObject } from '../../core/contract/json.ts'
import type { StreamReader } from '../../core/contract/provider.ts'
import type { ReplyEvent, ReplyPart } from '../../core/contract/reply.ts'
import { readFailureRecord } from './read-failure.ts'
import { createToolCallReader } from './tool-calls.ts'
import { readChoice, readContent, readFinishReason, readString, readUsage } from './wire.ts'

const NOTHING: readonly ReplyEvent[] = []

/** Reads chat completion chunks: https://platform.openai.com/docs/api-reference/chat-streaming */
export function openStream(): StreamReader {
  const readToolCalls = createToolCallReader()
  let started = false
  let finished = false
  let done = false

  function readParts(chunk: JsonObject): readonly ReplyPart[] {
    const parts: ReplyPart[] = []
    const choice = readChoice(chunk)
    if (choice && !started) {
      parts.push({ type: 'start', id: readString(chunk.id), model: readString(chunk.model) })
      started = true
    }
    const delta = choice?.delta
    if (isJsonObject(delta)) parts.push(...readContent(delta), ...readToolCalls(delta.tool_calls))
    const usage = readUsage(chunk.usage)
    if (usage) parts.push({ type: 'usage', usage })
    const reason = readFinishReason(choice?.finish_reason)
    if (reason && !finished) {
      parts.push({ type: 'finish', reason })
      finished = true
    }
    return parts
  }

  return {
    read({ data }) {
      if (data.startsWith('[DONE]')) done = true
      if (done || data === '') return NOTHING
      const chunk = parseChunk(data)
      if (chunk.error != null) throw readFailureRecord(chunk)
      return [{ parts: readParts(chunk), native: chunk }]
    },
    end() {
      if (done || finished) return NOTHING
      throw new GatewayError('provider_error', 'The provider stopped before the end of its reply.')
    },
  }
}

function parseChunk(data: string): JsonObject {
  let chunk: unknown
  let cause: unknown
  try {
    chunk = JSON.parse(data)
  } catch (error) {
    cause = error
  }
  if (isJsonObject(chunk)) return chunk
  throw new GatewayError('provider_error', 'The provider sent a malformed record.', { cause })
}
