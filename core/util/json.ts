import { isJsonObject, type JsonObject } from '../contract/json.ts'

/** Returns the parsed JSON text, or undefined if the text is not valid JSON. Never throws. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Like `parseJson`, but also returns undefined for a JSON value that is not an object. */
export function parseJsonObject(text: string): JsonObject | undefined {
  const value = parseJson(text)
  return isJsonObject(value) ? value : undefined
}
