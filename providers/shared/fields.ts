import { isJsonObject, type JsonObject } from '../../core/contract/json.ts'
import { isNestedTooDeep } from '../../core/util/json-depth.ts'

/** Returns a string as it is, and an empty string for any other value. */
export function asString(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/** Returns a number as it is, and undefined for any other value. */
export function asNumber(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined
}

/** Returns an object as it is, and an empty object for any other value. */
export function asObject(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {}
}

/** Returns the objects in an array, and an empty array for any other value. */
export function asObjects(value: unknown): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : []
}

/** Parses JSON. Returns undefined for invalid JSON: proxies in front of a provider send HTML, or nothing. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/**
 * Parses a JSON object. Returns undefined for invalid JSON, for any other JSON value, and for an object that
 * is nested too deep to be encoded again.
 */
export function parseObject(text: string): JsonObject | undefined {
  const value = parseJson(text)
  return isJsonObject(value) && !isNestedTooDeep(value) ? value : undefined
}
