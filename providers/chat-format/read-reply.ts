import { GatewayError } from '../../core/contract/errors.ts'
import type { ReplyEvent, ReplyPart } from '../../core/contract/reply.ts'
import { readObject, readString } from '../read-fields.ts'
import { readChoice, readFinishReason } from './read-choice.ts'
import { addContent } from './read-content.ts'
import { isFailure, readFailureRecord } from './read-failure.ts'
import { readUsage } from './read-usage.ts'
import { createToolCallReader } from './tool-calls.ts'

/** Reads a chat completion. Throws a `GatewayError` when the body is anything else. */
export function parseChatReply(body: unknown): ReplyEvent {
  const native = readObject(body)
  if (isFailure(native)) throw readFailureRecord(native)
  const choice = readChoice(native)
  if (!choice)
    throw new GatewayError('provider_error', 'The provider sent a reply that is no chat completion.')

  const message = readObject(choice.message)
  const usage = readUsage(native.usage)
  const parts: ReplyPart[] = [{ type: 'start', id: readString(native.id), model: readString(native.model) }]
  addContent(parts, message)
  if (message.tool_calls !== undefined) parts.push(...createToolCallReader()(message.tool_calls))
  if (usage) parts.push({ type: 'usage', usage })
  parts.push({ type: 'finish', reason: readFinishReason(choice.finish_reason) ?? 'stop' })
  return { parts, native }
}
