import type { ReplyPart } from '../../core/contract/chat.ts'
import { isJsonObject, type JsonObject } from '../../core/contract/json.ts'

/** Returns a string as it is, and an empty string for any other value. */
export function asString(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/** Returns a number as it is, and undefined for any other value. */
export function asNumber(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined
}

/** No request has more tokens: what a provider reports beyond is an error of its own. */
const MAX_TOKENS = 1_000_000_000

/**
 * Returns a number of tokens, whole and not negative, also of a number as text; undefined for any other
 * value.
 */
export function asTokens(value: unknown): number | undefined {
  const count = typeof value === 'string' && /^\d+(?:\.\d+)?$/.test(value) ? Number(value) : value
  return typeof count === 'number' ? Math.min(Math.max(Math.ceil(count), 0), MAX_TOKENS) : undefined
}

/** Returns an object as it is, and an empty object for any other value. */
export function asObject(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {}
}

/** Returns the objects in an array, and an empty array for any other value. */
export function asObjects(value: unknown): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : []
}

/** Returns the arguments of a call as JSON text. Some providers send an object in place of its text. */
export function toArgumentsJson(value: unknown): string {
  return isJsonObject(value) ? JSON.stringify(value) : asString(value)
}

/** Names of types; a longer text may be something else. */
const NAME = /^[\w.-]{1,40}(?: \([\w.+/-]{1,40}\))?$/

/** The part for content that the gateway does not read. `name` is its type in the provider's format. */
export function toUnreadPart(name: unknown): ReplyPart {
  return { type: 'unread', name: typeof name === 'string' && NAME.test(name) ? name : 'unknown content' }
}
