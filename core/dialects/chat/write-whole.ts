import {
  type Exchange,
  GatewayError,
  isJsonObject,
  type JsonObject,
  type ReplyPart,
} from '../../contract/index.ts'
import { newId } from '../../ids.ts'
import { toolCallOf } from './tool-call.ts'
import { usageOf } from './usage.ts'

/** A chat completion with the extension fields. A vendor's own completion keeps every field it came with. */
export function writeCompletion(exchange: Exchange): JsonObject {
  if (exchange.reply?.type !== 'whole')
    throw new GatewayError('internal_error', 'There is no reply to write.')
  const { parts, native } = exchange.reply.event
  const completion = native ?? collectCompletion(parts)
  return decorate({ ...completion, id: newId('chatcmpl-') }, exchange.decoration?.last())
}

/** Adds extension fields to a record; `metadata` of both is kept, the gateway's winning. */
export function decorate(record: JsonObject, extension: JsonObject | undefined): JsonObject {
  if (extension === undefined) return record
  const { metadata } = extension
  if (!isJsonObject(record.metadata) || !isJsonObject(metadata)) return { ...record, ...extension }
  return { ...record, ...extension, metadata: { ...record.metadata, ...metadata } }
}

function collectCompletion(parts: readonly ReplyPart[]): JsonObject {
  let model = ''
  let usage: JsonObject | undefined
  let finish = 'stop'
  const texts = { text: '', reasoning: '', refusal: '' }
  const calls: ReturnType<typeof toolCallOf>[] = []
  for (const part of parts) {
    switch (part.type) {
      case 'start':
        model = part.model
        break
      case 'text':
      case 'reasoning':
      case 'refusal':
        texts[part.type] += part.text
        break
      case 'tool-start':
        calls[part.index] = toolCallOf(part)
        break
      case 'tool-json': {
        const call = calls[part.index]
        if (call !== undefined) call.function.arguments += part.json
        break
      }
      case 'usage':
        usage = usageOf(part.usage)
        break
      case 'finish':
        finish = part.reason
        break
      default:
        part satisfies never
    }
  }
  const message = {
    role: 'assistant',
    content: texts.text === '' && calls.length > 0 ? null : texts.text,
    refusal: texts.refusal || null,
    ...(texts.reasoning && { reasoning_content: texts.reasoning }),
    ...(calls.length > 0 && { tool_calls: calls }),
  }
  return {
    id: '',
    object: 'chat.completion',
    created: Math.floor(Date.now() / 1000),
    model,
    choices: [{ index: 0, message, logprobs: null, finish_reason: finish }],
    ...(usage && { usage }),
  }
}
