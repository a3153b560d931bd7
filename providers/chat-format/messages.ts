import type { Message, ToolCall } from '../../core/contract/chat.ts'
import { asString } from '../shared/fields.ts'
import { isInstruction } from '../shared/instructions.ts'
import { toChatReasoning } from '../shared/own-reasoning.ts'
import { withOpenAiFiles } from './files.ts'

/** The text of a message. The texts and refusals of a list of parts are joined by line breaks. */
export function joinText(content: Message['content']): string {
  if (typeof content === 'string') return content
  const texts = (content ?? []).map((part) => asString(part.text) || asString(part.refusal))
  return texts.filter((text) => text !== '').join('\n')
}

/**
 * Prepends an instruction unless the beginning of the conversation, which later messages do not change,
 * mentions JSON. JSON mode requires the word in the prompt: without it, providers answer 400 or endless
 * white space (docs/providers.md, "Mistral requests" and "DeepSeek requests").
 */
export function withJsonInstruction(messages: readonly Message[]): readonly Message[] {
  const firstTurn = messages.findIndex((message) => !isInstruction(message))
  const beginning = firstTurn === -1 ? messages : messages.slice(0, firstTurn + 1)
  const isMentioned = beginning.some(({ content }) => /json/i.test(joinText(content)))
  return isMentioned ? messages : [{ role: 'system', content: 'Answer in JSON.' }, ...messages]
}

/**
 * Messages for OpenAI and compatible providers: without what replies of other providers hold and clients send
 * back, which OpenAI refuses, with reasoning and files in its form. Returns the same array if there is
 * nothing to change.
 */
export function toCompatibleMessages(messages: readonly Message[]): readonly Message[] {
  const isChanged = ({ reasoning_data, tool_calls }: Message) =>
    reasoning_data !== undefined || tool_calls?.some(({ extra_content }) => extra_content !== undefined)
  const sent = withOpenAiFiles(messages)
  return sent.some(isChanged) ? sent.map(toCompatibleMessage) : sent
}

function toCompatibleMessage(message: Message): Message {
  const tool_calls = message.tool_calls?.map(({ extra_content: _, ...call }) => call as ToolCall)
  return { ...toChatReasoning(message), ...(tool_calls && { tool_calls }) }
}
