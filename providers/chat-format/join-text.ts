import type { Message } from '../../core/contract/chat.ts'
import { readString } from '../read-fields.ts'

/** The text of a message: a string as it is, the text parts of a list one per line, refusals among them. */
export function joinText(content: Message['content']): string {
  if (typeof content === 'string') return content
  const texts = (content ?? []).map((part) => readString(part.text) || readString(part.refusal))
  return texts.filter((text) => text !== '').join('\n')
}
