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
  const { cache_control, tools, system, messages } = fields
  const own = cache_control == null ? 0 : 1
  let surplus = own + countMarks(tools) + countMarks(system) + countMarks(messages) - MAX_MARKS
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

/** Counts the marks in a list, and in the contents of its objects. Every request passes here. */
function countMarks(list: unknown): number {
  if (!Array.isArray(list)) return 0
  let count = 0
  for (const each of list) {
    if (!isJsonObject(each)) continue
    if (each.cache_control != null) count++
    if (typeof each.content === 'object') count += countMarks(each.content)
  }
  return count
}
