import {
  type ChatRequest,
  type ContentPart,
  isJsonObject,
  type JsonObject,
  type Message,
} from '../contract/index.ts'

/** Returns the content of a message; another one than `message.content` if its texts were rewritten. */
type ContentOf = (message: Message) => unknown

const contentOfMessage: ContentOf = ({ content }) => content

/**
 * Returns texts that models read as one, joined: those of the parts of a message, of the blocks in a part,
 * and of messages that some providers receive as one. A word may be divided between them. How many they are
 * does not depend on `contentOf`.
 */
export function joinAdjacentTexts(request: ChatRequest, contentOf = contentOfMessage): readonly string[] {
  const { messages } = request
  const joined: string[] = []
  for (const message of [...messages, ...predictedMessage(request)]) {
    const content = contentOf(message)
    if (!Array.isArray(content)) continue
    for (const texts of [textsOfParts(content), ...content.flatMap(blockTexts)])
      if (texts.length > 1) joined.push(...joinTexts(texts))
  }
  if (messages.length < 2) return joined
  const system = messages.filter(isSystem)
  const prompts = system.flatMap((message) => textsOfMessage(message, contentOf))
  // Anthropic receives all of them as one text.
  if (prompts.length > 1) joined.push(prompts.join('\n\n'))
  for (const turn of [system, ...mergedTurns(messages)]) {
    const texts = turn.flatMap((message) => textsOfMessage(message, contentOf))
    if (turn.length > 1 && texts.length > 1) joined.push(...joinTexts(texts))
  }
  return joined
}

/** Whether `joinAdjacentTexts` may return anything. */
export function hasAdjacentTexts(request: ChatRequest): boolean {
  const messages = [...request.messages, ...predictedMessage(request)]
  if (messages.some(({ content }) => Array.isArray(content))) return true
  return messages.filter(isSystem).length > 1 || mergedTurns(request.messages).length > 0
}

/** The prediction of the reply, whose content is that of a message. */
function predictedMessage({ prediction }: ChatRequest): readonly Message[] {
  const content = isJsonObject(prediction) ? prediction.content : undefined
  return Array.isArray(content) ? [{ role: 'assistant', content }] : []
}

/** Twice, because some providers do not receive blank texts. */
function joinTexts(texts: readonly string[]): readonly string[] {
  const joined = texts.join('')
  const sent = texts.filter(isNotBlank)
  return [joined, sent.length === texts.length ? joined : sent.join('')]
}

/**
 * The messages of the same author that some providers receive as one: system messages, tool results and
 * messages without content do not separate them. Turns of one message are left out.
 */
function mergedTurns(messages: readonly Message[]): readonly (readonly Message[])[] {
  const turns: Message[][] = []
  let author: 'assistant' | 'user' | undefined
  let turn: Message[] = []
  for (const message of messages) {
    if (isSystem(message)) continue
    const { role } = message
    const by = role === 'assistant' ? 'assistant' : 'user'
    if (by !== author) {
      if (!isSent(message)) continue
      author = by
      turn = []
    }
    if (role === 'tool' || role === 'function') continue
    turn.push(message)
    if (turn.length === 2) turns.push(turn)
  }
  return turns
}

function isSystem({ role }: Message): boolean {
  return role === 'system' || role === 'developer'
}

/** Whether every provider receives something of a message. */
function isSent(message: Message): boolean {
  const { role, content, tool_calls } = message
  if (role === 'tool' || role === 'function' || (tool_calls != null && tool_calls.length > 0)) return true
  if (textsOfMessage(message, contentOfMessage).some(isNotBlank)) return true
  return Array.isArray(content) && content.some(({ type }) => !TEXT_TYPES.has(type))
}

/** Parts that providers leave out without a text; `extra_content` may be reasoning. */
const TEXT_TYPES: ReadonlySet<string> = new Set(['text', 'refusal', 'extra_content'])

function isNotBlank(text: string): boolean {
  return /\S/.test(text)
}

function textsOfMessage(message: Message, contentOf: ContentOf): readonly string[] {
  const content = contentOf(message)
  if (typeof content === 'string') return [content]
  if (Array.isArray(content)) return textsOfParts(content)
  return typeof message.refusal === 'string' ? [message.refusal] : []
}

function textsOfParts(parts: readonly ContentPart[]): readonly string[] {
  const texts: string[] = []
  for (const { text, refusal, extra_content } of parts) {
    if (typeof text === 'string') texts.push(text)
    if (typeof refusal === 'string') texts.push(refusal)
    const block = extra_content?.anthropic
    if (isJsonObject(block) && typeof block.text === 'string') texts.push(block.text)
  }
  return texts
}

/** The texts of each list in a part's block in Anthropic's format, such as a document or a search result. */
function blockTexts({ extra_content }: ContentPart): readonly (readonly string[])[] {
  const block = extra_content?.anthropic
  if (!isJsonObject(block)) return []
  const lists: (readonly string[])[] = []
  const pending: unknown[] = [block]
  while (pending.length > 0) {
    const value = pending.pop()
    if (Array.isArray(value)) lists.push(value.filter(isJsonObject).flatMap(textOfBlock))
    // Nothing validates blocks before the provider does.
    if (typeof value === 'object' && value !== null) pending.push(...Object.values(value))
  }
  return lists
}

function textOfBlock({ text }: JsonObject): readonly string[] {
  return typeof text === 'string' ? [text] : []
}
