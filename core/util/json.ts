import { isJsonObject, type JsonObject } from '../contract/json.ts'
import { isNestedTooDeep, MAX_JSON_DEPTH } from './json-depth.ts'

/** Returns the parsed JSON text, or undefined if the text is not valid JSON. Never throws. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** A text of this length cannot be nested too deep: each level takes two brackets. */
const SAFE_LENGTH = 2 * MAX_JSON_DEPTH

/**
 * Like `parseJson`, but also returns undefined for a JSON value that is not an object, and for an object that
 * is nested too deep to be encoded again.
 */
export function parseJsonObject(text: string): JsonObject | undefined {
  const value = parseJson(text)
  return isJsonObject(value) && !(text.length > SAFE_LENGTH && isNestedTooDeep(value)) ? value : undefined
}
