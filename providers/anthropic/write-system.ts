import type { Message } from '../../core/contract/chat.ts'
import type { TextBlock } from './wire.ts'
import { writeText } from './write-content.ts'

/** The texts of all system and developer messages, as one text where no part of them carries a cache mark. */
export function writeSystem(
  messages: readonly Message[],
  instruction: string | undefined,
): string | readonly TextBlock[] | undefined {
  const blocks = messages.flatMap(({ role, content }, index) =>
    isSystem(role) ? writeText(content, `messages[${index}].content`) : [],
  )
  if (instruction) blocks.push({ type: 'text', text: instruction })
  if (blocks.length === 0) return undefined
  if (blocks.some(({ cache_control }) => cache_control)) return blocks
  return blocks.map(({ text }) => text).join('\n\n')
}

export function isSystem(role: Message['role']): boolean {
  return role === 'system' || role === 'developer'
}
