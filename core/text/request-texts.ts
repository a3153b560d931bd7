import { type ChatRequest, type ContentPart, isJsonObject, type Message } from '../contract/index.ts'
import { rewriteJsonText } from './json-text.ts'
import { mapContent, mapRequest, type TextRewriter } from './map-request.ts'
import { isBinaryMedia } from './media-text.ts'

/**
 * Returns all texts of a request that rules inspect: every value on its own, and the text of each document,
 * because a pattern may match only one of the two (docs/firewall.md, "What is inspected").
 */
export function requestTexts(request: ChatRequest): readonly string[] {
  const { rewriter, texts } = createCollector()
  mapRequest(request, { ...rewriter, document: (source) => texts.push(source) })
  for (const message of request.messages) texts.push(...contentDocuments(message, undefined))
  return texts
}

/** Every inspected value of a request on its own; what `mapRequest` rewrites. */
export function inspectedValues(request: ChatRequest): readonly string[] {
  const { rewriter, texts } = createCollector()
  mapRequest(request, rewriter)
  return texts
}

/** The contents of the user's messages: the input of the routing condition `contains`. */
export function userTexts({ messages }: ChatRequest): readonly string[] {
  const { rewriter, texts } = createCollector()
  for (const message of messages) {
    if (message.role !== 'user') continue
    mapContent(message, rewriter)
    texts.push(...contentDocuments(message, undefined))
  }
  return texts
}

const CHARACTERS_PER_TOKEN = 4

/** Estimates the tokens of the messages from their characters. Tools and images are not counted. */
export function estimateInputTokens({ messages }: Pick<ChatRequest, 'messages'>): number {
  return Math.ceil(countCharacters(messages) / CHARACTERS_PER_TOKEN)
}

function countCharacters(messages: readonly Message[]): number {
  let count = 0
  for (const { content, reasoning_content, tool_calls } of messages) {
    if (typeof content === 'string') count += content.length
    else for (const { text } of content ?? []) count += text?.length ?? 0
    count += reasoning_content?.length ?? 0
    for (const call of tool_calls ?? []) count += call.function?.arguments?.length ?? 0
  }
  return count
}

/** Short texts repeat often, such as the keys of a list of objects. Hashing long ones would cost more. */
const MAX_DEDUPLICATED_LENGTH = 64

function createCollector() {
  const texts: string[] = []
  let seen: Set<string> | undefined
  const rewrite = (text: string) => {
    if (text.length > MAX_DEDUPLICATED_LENGTH) texts.push(text)
    else {
      seen ??= new Set()
      if (!seen.has(text)) texts.push(text)
      seen.add(text)
    }
    return text
  }
  return { texts, rewriter: { rewrite } satisfies TextRewriter }
}

/**
 * The documents of a request: contents that are lists, as their JSON encoding, and as the lines that some
 * providers receive; and texts that are JSON, such as tool arguments. With `rewrite`, the documents as they
 * are with their values rewritten.
 */
export function documentTexts(request: ChatRequest, rewrite?: TextRewriter['rewrite']): readonly string[] {
  const documents: string[] = []
  mapRequest(request, {
    rewrite: rewrite ?? ((text) => text),
    document: (source) => documents.push(source),
  })
  for (const message of request.messages) documents.push(...contentDocuments(message, rewrite))
  return documents
}

function contentDocuments(message: Message, rewrite: TextRewriter['rewrite'] | undefined): readonly string[] {
  if (!Array.isArray(message.content)) return []
  const content = rewrite === undefined ? message.content : mapContent(message, { rewrite })
  const parts = content as readonly ContentPart[]
  const lines = parts.flatMap(({ text }) => (typeof text === 'string' ? [text] : []))
  const documents = [JSON.stringify(parts.every(isText) ? parts : parts.map(withoutBinary))]
  if (lines.length < 2) return documents
  const joined = lines.join('\n')
  documents.push(joined)
  if (message.role === 'tool' || message.role === 'function') documents.push(jsonTokens(joined).join('\n'))
  return documents
}

/** The parts of a tool result may be a JSON document together, which some providers receive parsed. */
function jsonTokens(source: string): readonly string[] {
  const { rewriter, texts } = createCollector()
  rewriteJsonText(source, rewriter.rewrite)
  return texts
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
