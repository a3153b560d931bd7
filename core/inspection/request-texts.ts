import {
  type ChatRequest,
  type ContentPart,
  isJsonObject,
  type JsonObject,
  type Message,
  TokenIds,
} from '../contract/index.ts'
import type { MaybePromise } from '../util/maybe-promise.ts'
import { rewriteJsonText } from './json-text.ts'
import { mapRequest, type TextRewriter } from './map-request.ts'
import { isBinaryMedia } from './media-text.ts'
import { CONTENT, REQUEST } from './request-inspection.ts'
import { TextCollector, visitTexts } from './visit-texts.ts'

/**
 * Returns texts that models read as one, joined: those of the parts of a message, of the blocks in a part,
 * and of messages that some providers receive as one. A word may be divided between them. `rewritten` is the
 * same request with other texts; how many results there are does not depend on it, unless a block of
 * Anthropic's format has other names in it.
 */
export function joinAdjacentTexts(request: ChatRequest, rewritten = request): readonly string[] {
  const texts = rewritten.messages.map(textsOfMessage)
  const joined: string[] = []
  for (const [index, { content, refusal }] of rewritten.messages.entries()) {
    if (!Array.isArray(content) && typeof refusal !== 'string') continue
    addJoined(joined, texts.slice(index, index + 1))
    if (!Array.isArray(content)) continue
    for (const part of content) for (const list of blockTexts(part)) addJoinedTexts(joined, list)
  }
  for (const message of predictedMessage(rewritten)) addJoined(joined, [textsOfMessage(message)])
  const textsAt = (indexes: readonly number[]) => indexes.flatMap((index) => texts[index] ?? [])
  const system = [...request.messages.keys()].filter((index) => isSystem(request.messages[index]))
  // Anthropic receives all of them as one text.
  addJoined(joined, textsAt(system), '\n\n')
  if (system.length > 1) addJoined(joined, textsAt(system))
  for (const turn of mergedTurns(request.messages)) addJoined(joined, textsAt(turn))
  return joined
}

/** Whether `joinAdjacentTexts` may return anything. */
function hasAdjacentTexts(request: ChatRequest): boolean {
  const { messages } = request
  if (messages.some(hasSeveralTexts) || predictedMessage(request).some(hasSeveralTexts)) return true
  if (messages.length === 1) return false
  return messages.filter(isSystem).length > 1 || mergedTurns(messages).length > 0
}

function hasSeveralTexts({ content, refusal }: Message): boolean {
  return Array.isArray(content) || typeof refusal === 'string'
}

/** The prediction of the reply, whose content is that of a message. */
function predictedMessage({ prediction }: ChatRequest): readonly Message[] {
  const content = isJsonObject(prediction) ? prediction.content : undefined
  return Array.isArray(content) ? [{ role: 'assistant', content }] : []
}

/** The texts of a message, and those of them that every provider receives. */
interface MessageTexts {
  readonly all: readonly string[]
  readonly certain: readonly string[]
}

/** Adds the texts of messages that are one for a provider. What a provider leaves out divides no word. */
function addJoined(joined: string[], messages: readonly MessageTexts[], separator = ''): void {
  addJoinedTexts(
    joined,
    messages.flatMap(({ all }) => all),
    separator,
  )
  if (messages.every(({ all, certain }) => certain === all)) return
  addJoinedTexts(
    joined,
    messages.flatMap(({ certain }) => certain),
    separator,
  )
}

/**
 * Twice, because some providers do not receive blank texts. Nothing for a single text. If all texts are
 * blank, or emptied to find what is between them, the separators stay.
 */
function addJoinedTexts(joined: string[], texts: readonly string[], separator = ''): void {
  if (texts.length < 2) return
  const whole = texts.join(separator)
  const sent = texts.filter(isNotBlank)
  joined.push(whole, sent.length === texts.length || sent.length === 0 ? whole : sent.join(separator))
}

/**
 * The indexes of messages of the same author that some providers receive as one: system messages, tool
 * results and messages that some provider leaves out do not separate them. Turns of one message are left out.
 */
function mergedTurns(messages: readonly Message[]): readonly (readonly number[])[] {
  const turns: number[][] = []
  let assistantTurn: number[] | undefined
  let userTurn: number[] | undefined
  for (const [index, message] of messages.entries()) {
    if (isSystem(message)) continue
    const { role } = message
    if (isSentToAll(message)) {
      if (role === 'assistant') userTurn = undefined
      else assistantTurn = undefined
    }
    if (role === 'tool') continue
    const turn: number[] = (role === 'assistant' ? assistantTurn : userTurn) ?? []
    if (role === 'assistant') assistantTurn = turn
    else userTurn = turn
    turn.push(index)
    if (turn.length === 2) turns.push(turn)
  }
  return turns
}

function isSystem(message: Message | undefined): boolean {
  const role = message?.role
  return role === 'system' || role === 'developer'
}

/** Whether every provider receives something of a message. Files of replies are left out by some. */
function isSentToAll(message: Message): boolean {
  const { role, content, tool_calls } = message
  if (role === 'tool' || (tool_calls != null && tool_calls.length > 0)) return true
  if (typeof content === 'string') return isNotBlank(content)
  const isSent = (part: ContentPart) =>
    part.type === 'text'
      ? isNotBlank(textOfContentPart(part) ?? '')
      : role === 'user' && !TEXT_TYPES.has(part.type)
  return content?.some(isSent) === true
}

/** Parts that providers leave out without a text; `extra_content` may be reasoning. */
const TEXT_TYPES: ReadonlySet<string> = new Set(['text', 'refusal', 'extra_content'])

function isNotBlank(text: string): boolean {
  return /\S/.test(text)
}

/** The texts of the content, and of the refusal, which some providers receive behind it. */
function textsOfMessage({ content, refusal }: Message): MessageTexts {
  if (typeof content === 'string') {
    const certain = [content]
    return { certain, all: typeof refusal === 'string' ? [content, refusal] : certain }
  }
  const certain: string[] = []
  const all: string[] = []
  for (const part of content ?? []) {
    const text = textOfContentPart(part)
    if (text === undefined) continue
    all.push(text)
    if (part.type === 'text') certain.push(text)
  }
  if (typeof refusal === 'string') all.push(refusal)
  return { certain, all: all.length === certain.length ? certain : all }
}

/** Providers read the field that belongs to the type of the part, whatever else it has. */
function textOfContentPart({ type, text, refusal, extra_content }: ContentPart): string | undefined {
  if (type === 'refusal') return toText(refusal)
  if (type !== 'extra_content') return toText(text)
  const block = extra_content?.anthropic
  return isJsonObject(block) && block.type === 'text' ? toText(block.text) : undefined
}

/** A mask may replace a number by a text. */
function toText(value: unknown): string | undefined {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined
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
    if (typeof value === 'object' && value !== null)
      for (const each of Object.values(value)) pending.push(each)
  }
  return lists
}

function textOfBlock({ text }: JsonObject): readonly string[] {
  const result = toText(text)
  return result === undefined ? [] : [result]
}

/**
 * The documents of a request with their values rewritten: contents that are lists, as their JSON encoding,
 * and as the lines that some providers receive; adjacent texts, joined; and texts that are JSON, such as tool
 * arguments.
 */
export function documentTexts(
  request: ChatRequest,
  rewriter: Pick<TextRewriter, 'rewrite' | 'rewrittenDocuments'>,
): readonly string[] {
  const documents: string[] = []
  const rewritten = mapRequest(request, { ...rewriter, document: (source) => documents.push(source) })
  for (const message of rewritten.messages) {
    const { content } = message
    if (!Array.isArray(content)) continue
    documents.push(...contentDocuments(content))
    const result = joinedResult(message, content)
    if (result === undefined) continue
    const tokens: string[] = []
    rewriteJsonText(result, (text) => {
      tokens.push(text)
      return text
    })
    documents.push(tokens.join('\n'))
  }
  return [...documents, ...joinAdjacentTexts(request, rewritten)]
}

/** Whether `documentTexts` may return anything. */
export function hasDocuments(request: ChatRequest): boolean {
  let found = hasAdjacentTexts(request)
  const visitJson = () => {
    found = true
  }
  visitTexts(request, REQUEST, { visitText: () => undefined, visitJson })
  return found
}

/** The documents of a content that is a list. */
function contentDocuments(content: unknown): readonly string[] {
  // The content of a message is a text or a list of parts.
  const parts = content as readonly ContentPart[]
  const documents = [JSON.stringify(parts.every(isText) ? parts : parts.map(withoutBinary))]
  const lines = linesOf(parts)
  return lines.length < 2 ? documents : [...documents, lines.join('\n')]
}

/**
 * The parts of a tool result may be a JSON document together, which some providers receive parsed. Undefined
 * for other messages.
 */
function joinedResult({ role }: Message, content: unknown): string | undefined {
  if (role !== 'tool') return undefined
  const lines = linesOf(content as readonly ContentPart[])
  return lines.length < 2 ? undefined : lines.join('\n')
}

function linesOf(parts: readonly ContentPart[]): readonly string[] {
  return parts.flatMap(({ text, refusal }) => [text, refusal].filter((each) => typeof each === 'string'))
}

function isText({ type }: ContentPart): boolean {
  return type === 'text'
}

/** A copy of the part without binary media. */
function withoutBinary(part: unknown): unknown {
  if (!isJsonObject(part)) return part
  const entries = Object.entries(part).filter(
    ([, value]) => typeof value !== 'string' || !isBinaryMedia(value),
  )
  return Object.fromEntries(entries.map(([name, value]) => [name, withoutBinary(value)]))
}

/**
 * Returns all texts of a request that rules inspect: every value on its own, and the text of each document,
 * because a pattern may match only one of the two (docs/guides/firewall.md, "What is inspected"). Leaves out
 * texts of which the caller knows the result. Returns a promise if the request has long JSON documents: they
 * are read in time slices.
 */
export function requestTexts(
  request: ChatRequest,
  isKnown?: (text: string) => boolean,
): MaybePromise<readonly string[]> {
  const collector = new TextCollector({ withDocuments: true, isKnown })
  visitTexts(request, REQUEST, collector)
  for (const message of request.messages) {
    if (!Array.isArray(message.content)) continue
    for (const document of contentDocuments(message.content)) collector.visitText(document)
    const result = joinedResult(message, message.content)
    if (result !== undefined) collector.addJoinedValues(result)
  }
  if (!hasAdjacentTexts(request)) return collector.finish()
  let previous: string | undefined
  for (const text of joinAdjacentTexts(request)) {
    if (text !== previous) collector.visitText(text)
    previous = text
  }
  return collector.finish()
}

/** Every inspected value of a request on its own; what `mapRequest` rewrites. Returns a promise as above. */
export function inspectedValues(request: ChatRequest): MaybePromise<readonly string[]> {
  const collector = new TextCollector()
  visitTexts(request, REQUEST, collector)
  return collector.finish()
}

/** The contents of the user's messages: the input of the routing condition `contains`. */
export function userTexts({ messages }: ChatRequest): readonly string[] {
  const collector = new TextCollector()
  for (const { role, content } of messages) {
    if (role !== 'user') continue
    visitTexts(content, CONTENT, collector)
    if (Array.isArray(content)) for (const text of contentDocuments(content)) collector.visitText(text)
  }
  return collector.texts
}

/** Whether a request has token ids in place of texts, which no rule can inspect. */
export function hasTokenIds({ messages }: ChatRequest): boolean {
  return messages.some(
    ({ content }) => Array.isArray(content) && content.some(({ token_ids }) => token_ids instanceof TokenIds),
  )
}
