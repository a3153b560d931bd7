import { isJsonObject, type JsonObject } from '../contract/json.ts'
import { isNestedTooDeep, SAFE_JSON_LENGTH } from './json-depth.ts'

/** Returns the parsed JSON text, or undefined if the text is not valid JSON. Never throws. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/**
 * Like `parseJson`, but also returns undefined for a JSON value that is not an object, and for an object that
 * is nested too deep to be encoded again.
 */
export function parseJsonObject(text: string): JsonObject | undefined {
  const value = parseJson(text)
  return isJsonObject(value) && !(text.length > SAFE_JSON_LENGTH && isNestedTooDeep(value))
    ? value
    : undefined
}
