import type { ChatRequest, Message } from '../../core/contract/chat.ts'
import { withJsonInstruction } from '../chat-format/messages.ts'
import { asObject, asString } from '../shared/fields.ts'
import type { DeepSeekResponseFormat } from './wire.ts'

/** Requests with a JSON schema use the JSON mode: the public API has no structured outputs. */
export function toDeepSeekResponseFormat(
  format: ChatRequest['response_format'],
): DeepSeekResponseFormat | undefined {
  if (format == null) return undefined
  return { type: format.type === 'text' ? 'text' : 'json_object' }
}

/**
 * Returns the messages with the instruction that JSON mode needs: the schema, which the model follows but
 * DeepSeek does not enforce, or else the word JSON (docs/providers.md, "DeepSeek requests").
 */
export function withFormatInstruction({ messages, response_format }: ChatRequest): readonly Message[] {
  if (response_format == null || response_format.type === 'text') return messages
  if (response_format.type === 'json_object') return withJsonInstruction(messages)
  const { schema, description } = asObject(response_format.json_schema)
  const instruction = [
    asString(description),
    'Answer with a single JSON object that matches this JSON Schema, and nothing else:',
    JSON.stringify(asObject(schema)),
  ]
  const content = instruction.filter((line) => line !== '').join('\n')
  return [{ role: 'system', content }, ...messages]
}
