import {
  type ChatRequest,
  type ContentPart,
  isJsonObject,
  type JsonObject,
  type Message,
} from '../contract/index.ts'

/**
 * Returns texts that models read as one, joined: those of the parts of a message, of the blocks in a part,
 * and of messages that some providers receive as one. A word may be divided between them. `rewritten` is the
 * same request with other texts; how many results there are does not depend on it.
 */
export function joinAdjacentTexts(request: ChatRequest, rewritten = request): readonly string[] {
  const { messages } = request
  const texts = rewritten.messages.map(textsOfMessage)
  const joined: string[] = []
  for (const [index, { content }] of rewritten.messages.entries()) {
    joined.push(...joinTexts(texts[index] ?? []))
    if (Array.isArray(content)) joined.push(...content.flatMap(blockTexts).flatMap(joinTexts))
  }
  for (const message of predictedMessage(rewritten)) joined.push(...joinTexts(textsOfMessage(message)))
  if (messages.length < 2) return joined
  const system = [...messages.keys()].filter((index) => isSystem(messages[index]))
  const textsOf = (indexes: readonly number[]) => indexes.flatMap((index) => texts[index] ?? NONE)
  // Anthropic receives all of them as one text.
  if (textsOf(system).length > 1) joined.push(textsOf(system).join('\n\n'))
  if (system.length > 1) joined.push(...joinTexts(textsOf(system)))
  for (const turn of mergedTurns(messages)) joined.push(...joinTexts(textsOf(turn)))
  return joined
}

/** Whether `joinAdjacentTexts` may return anything. */
export function hasAdjacentTexts(request: ChatRequest): boolean {
  const messages = [...request.messages, ...predictedMessage(request)]
  if (messages.some(({ content, refusal }) => Array.isArray(content) || typeof refusal === 'string'))
    return true
  return messages.filter(isSystem).length > 1 || mergedTurns(request.messages).length > 0
}

/** The prediction of the reply, whose content is that of a message. */
function predictedMessage({ prediction }: ChatRequest): readonly Message[] {
  const content = isJsonObject(prediction) ? prediction.content : undefined
  return Array.isArray(content) ? [{ role: 'assistant', content }] : []
}

const NONE: readonly string[] = []

/** Twice, because some providers do not receive blank texts. Nothing for a single text. */
function joinTexts(texts: readonly string[]): readonly string[] {
  if (texts.length < 2) return NONE
  const joined = texts.join('')
  const sent = texts.filter(isNotBlank)
  return [joined, sent.length === texts.length ? joined : sent.join('')]
}

/**
 * The indexes of messages of the same author that some providers receive as one: system messages, tool
 * results and messages without content do not separate them. Turns of one message are left out.
 */
function mergedTurns(messages: readonly Message[]): readonly (readonly number[])[] {
  const turns: number[][] = []
  let author: 'assistant' | 'user' | undefined
  let turn: number[] = []
  for (const [index, message] of messages.entries()) {
    if (isSystem(message)) continue
    const { role } = message
    const by = role === 'assistant' ? 'assistant' : 'user'
    if (by !== author) {
      if (!isSent(message)) continue
      author = by
      turn = []
    }
    if (role === 'tool' || role === 'function') continue
    turn.push(index)
    if (turn.length === 2) turns.push(turn)
  }
  return turns
}

function isSystem(message: Message | undefined): boolean {
  const role = message?.role
  return role === 'system' || role === 'developer'
}

/** Whether every provider receives something of a message. */
function isSent(message: Message): boolean {
  const { role, content, tool_calls } = message
  if (role === 'tool' || role === 'function' || (tool_calls != null && tool_calls.length > 0)) return true
  if (textsOfMessage(message).some(isNotBlank)) return true
  return Array.isArray(content) && content.some(({ type }) => !TEXT_TYPES.has(type))
}

/** Parts that providers leave out without a text; `extra_content` may be reasoning. */
const TEXT_TYPES: ReadonlySet<string> = new Set(['text', 'refusal', 'extra_content'])

function isNotBlank(text: string): boolean {
  return /\S/.test(text)
}

/** The texts of the content, and of the refusal, which some providers receive behind it. */
function textsOfMessage({ content, refusal }: Message): readonly string[] {
  const texts = typeof content === 'string' ? [content] : textsOfParts(content ?? [])
  return typeof refusal === 'string' ? [...texts, refusal] : texts
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
