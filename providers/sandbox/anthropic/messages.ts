import type { JsonObject } from '../../../core/contract/index.ts'
import { readObject, readObjects, readString } from '../../read-fields.ts'
import { Refusal } from '../refusal.ts'

/** One message of a request, by what the sandbox looks at. */
export interface Message {
  readonly role: 'user' | 'assistant' | 'system'
  readonly texts: readonly string[]
  /** The texts of its tool results. */
  readonly results: readonly string[]
  /** Ids of the tools that it calls. */
  readonly calls: readonly string[]
  /** Ids of the calls that it answers. */
  readonly answers: readonly string[]
  /** Whether something stands before a tool result. */
  readonly hasLateResult: boolean
}

/** Reads `messages`. Throws a `Refusal` (400) for what Anthropic would not take. */
export function readMessages(list: unknown): readonly Message[] {
  if (!Array.isArray(list)) throw new Refusal(400, 'messages: Field required')
  if (list.length === 0) throw new Refusal(400, 'messages: at least one message is required')
  return list.map((message, index) => readMessage(readObject(message), `messages.${index}`))
}

/** The texts of a string or of text blocks. Throws a `Refusal` (400) for an empty block. */
export function readTexts(content: unknown, path = 'system'): readonly string[] {
  if (typeof content === 'string') return content === '' ? [] : [content]
  const texts = readObjects(content).flatMap(({ type, text }) => (type === 'text' ? [readString(text)] : []))
  if (texts.every((text) => text.trim() !== '')) return texts
  throw new Refusal(400, `${path}: text content blocks must be non-empty`)
}

function readMessage({ role, content }: JsonObject, path: string): Message {
  if (role !== 'user' && role !== 'assistant' && role !== 'system') {
    throw new Refusal(400, `${path}.role: Input should be 'user' or 'assistant'`)
  }
  const blocks = readObjects(content)
  const results = blocks.filter(({ type }) => type === 'tool_result')
  const texts = readTexts(content, path)
  if (texts.length + blocks.length === 0) {
    throw new Refusal(400, `${path}: user messages must have non-empty content`)
  }
  return {
    role,
    texts,
    results: results.map((result) => readTexts(result.content, path).join('\n')),
    calls: blocks.filter(({ type }) => type === 'tool_use').map(({ id }) => readString(id)),
    answers: results.map((result) => readString(result.tool_use_id)),
    hasLateResult: blocks.slice(0, results.length).some(({ type }) => type !== 'tool_result'),
  }
}
