import type { ChatRequest } from '../../core/contract/chat.ts'
import type { MessagesBody } from './wire.ts'
import { JSON_INSTRUCTION } from './write-format.ts'
import { writeMessages } from './write-messages.ts'
import { writeSystem } from './write-system.ts'

/** What the model gets to read. A request of system messages only is sent as the user's, for there must be one. */
export function writePrompt({
  messages,
  response_format,
}: ChatRequest): Pick<MessagesBody, 'system' | 'messages'> {
  const instruction = response_format?.type === 'json_object' ? JSON_INSTRUCTION : undefined
  const system = writeSystem(messages, instruction)
  const turns = writeMessages(messages)
  if (turns.length > 0 || system === undefined) return { system, messages: turns }
  const content = typeof system === 'string' ? [{ type: 'text' as const, text: system }] : system
  return { messages: [{ role: 'user', content }] }
}
