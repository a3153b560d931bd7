import { type ChatRequest, isJsonObject, type JsonObject, TokenIds } from '../contract/index.ts'
import { isBinaryMedia } from './media-text.ts'
import { INSPECTED, type Position } from './position.ts'
import { REQUEST } from './positions.ts'
import { positionOfItems } from './scalar-rules.ts'

/**
 * Returns the request with empty texts in place of binary media: images, audio and files that rules do not
 * inspect; and of token ids. Text files stay. Returns the same object if there is none.
 */
export function withoutMedia(request: ChatRequest): ChatRequest {
  // Media is in the parts of a message, or in the audio of a reply that the client sent back.
  if (!request.messages.some(({ content, audio }) => Array.isArray(content) || audio)) return request
  // The cast is safe, because texts stay texts.
  return removeMedia(request, REQUEST) as ChatRequest
}

function removeMedia(value: unknown, position: Position): unknown {
  if (typeof value === 'string') return position.scalar === 'media' && isBinaryMedia(value) ? '' : value
  if (value instanceof TokenIds) return ''
  if (Array.isArray(value)) {
    const itemPosition = positionOfItems(position)
    const items = value.map((item) => removeMedia(item, itemPosition))
    return items.some((item, index) => item !== value[index]) ? items : value
  }
  return isJsonObject(value) ? removeFromFields(value, position) : value
}

function removeFromFields(value: JsonObject, basePosition: Position): JsonObject {
  const { fields, others = INSPECTED } = basePosition.select?.(value) ?? basePosition
  let changed: Record<string, unknown> | undefined
  for (const [name, field] of Object.entries(value)) {
    const kept = removeMedia(field, fields?.get(name) ?? others)
    if (kept === field) continue
    changed ??= { ...value }
    changed[name] = kept
  }
  return changed ?? value
}
