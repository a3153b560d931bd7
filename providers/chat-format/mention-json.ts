import type { Message } from '../../core/contract/chat.ts'
import { joinText } from './join-text.ts'

/** JSON mode wants the word in the prompt, and answers 400 or endless white space without it (reference 7.1, 8.2). */
export function mentionJson(messages: readonly Message[]): readonly Message[] {
  const isMentioned = messages.some(({ content }) => /json/i.test(joinText(content)))
  return isMentioned ? messages : [{ role: 'system', content: 'Answer in JSON.' }, ...messages]
}
