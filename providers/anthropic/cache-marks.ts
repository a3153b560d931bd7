import { isJsonObject, type JsonObject } from '../../core/contract/json.ts'
import { asObjects } from '../shared/fields.ts'
import type { AnthropicBody } from './wire.ts'

/** Anthropic refuses more: "A maximum of 4 blocks with cache_control may be provided." */
const MAX_MARKS = 4

/** Where tools and blocks with marks are, in the order of the prompt. */
const HOLDERS = ['tools', 'system', 'messages', 'content'] as const

/**
 * Removes the first marks of the cache of prompts (`cache_control`) from a body with too many: the later ones
 * cover the same content.
 */
export function limitCacheMarks(body: AnthropicBody): AnthropicBody {
  // The cast is safe: the fields keep their types.
  const fields = body as unknown as JsonObject
  let surplus = countMarks(fields) - MAX_MARKS
  if (surplus <= 0) return body
  return { ...fields, ...removeIn(fields) } as unknown as AnthropicBody

  function remove({ cache_control, ...value }: JsonObject): JsonObject {
    const inner = removeIn(value)
    if (cache_control == null || surplus <= 0)
      return { ...value, ...inner, ...(cache_control != null && { cache_control }) }
    surplus--
    return { ...value, ...inner }
  }

  function removeIn(value: JsonObject): JsonObject {
    const lists = HOLDERS.filter((field) => Array.isArray(value[field]))
    return Object.fromEntries(lists.map((field) => [field, asObjects(value[field]).map(remove)]))
  }
}

function countMarks(value: JsonObject): number {
  let count = value.cache_control == null ? 0 : 1
  for (const field of HOLDERS) {
    const list = value[field]
    if (Array.isArray(list)) for (const each of list) if (isJsonObject(each)) count += countMarks(each)
  }
  return count
}
