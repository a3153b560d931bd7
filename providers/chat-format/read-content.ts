import type { JsonObject } from '../../core/contract/json.ts'
import type { ReplyPart } from '../../core/contract/reply.ts'
import { readObjects } from '../read-fields.ts'

/** Adds the reasoning, text and refusal of a message or a delta, in the order in which a model says them. */
export function addContent(parts: ReplyPart[], message: JsonObject): void {
  add(parts, 'reasoning', message.reasoning_content)
  if (Array.isArray(message.content)) addChunks(parts, message.content)
  else add(parts, 'text', message.content)
  add(parts, 'refusal', message.refusal)
}

function add(parts: ReplyPart[], type: 'reasoning' | 'text' | 'refusal', text: unknown): void {
  if (typeof text === 'string' && text !== '') parts.push({ type, text })
}

/** Mistral's content lists: `{type:"text", text}`, `{type:"thinking", thinking:[{type:"text", text}]}` (reference 7.2). */
function addChunks(parts: ReplyPart[], chunks: readonly unknown[]): void {
  for (const chunk of readObjects(chunks)) {
    if (chunk.type === 'thinking')
      for (const { text } of readObjects(chunk.thinking)) add(parts, 'reasoning', text)
    else add(parts, 'text', chunk.text)
  }
}
