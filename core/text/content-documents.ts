import { type ChatRequest, type ContentPart, isJsonObject, type Message } from '../contract/index.ts'
import { hasAdjacentTexts, joinAdjacentTexts } from './adjacent-texts.ts'
import { rewriteJsonText } from './json-text.ts'
import { mapRequest, type TextRewriter } from './map-request.ts'
import { isBinaryMedia } from './media-text.ts'
import { REQUEST } from './positions.ts'
import { visitTexts } from './visit-texts.ts'

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
export function contentDocuments(content: unknown): readonly string[] {
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
export function joinedResult({ role }: Message, content: unknown): string | undefined {
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
