import type { JsonObject } from '../../core/contract/json.ts'
import type { ReplyPart } from '../../core/contract/reply.ts'

/** What a block of text or thoughts says; nothing for blocks of other types, which only the vendor's own tools make. */
export function readBlock({ type, text, thinking }: JsonObject): readonly ReplyPart[] {
  if (type === 'text') return say('text', text)
  return type === 'thinking' ? say('reasoning', thinking) : []
}

/** One part, or none where there is no text. */
export function say(type: 'text' | 'reasoning' | 'refusal', text: unknown): readonly ReplyPart[] {
  return typeof text === 'string' && text !== '' ? [{ type, text }] : []
}
