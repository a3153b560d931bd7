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
 * Like `parseJson`, but also returns undefined if an object has a name twice: readers take the first one or
 * the last one.
 */
export function parseUniqueJson(text: string): unknown {
  const value = parseJson(text)
  return countNames(value) === countNamesOf(text) ? value : undefined
}

/** In valid JSON, a string in front of a colon is a name. */
function countNamesOf(json: string): number {
  let count = 0
  for (const [, colon] of json.matchAll(/"(?:[^"\\]|\\.)*"(\s*:)?/g)) if (colon !== undefined) count += 1
  return count
}

function countNames(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  const values: readonly unknown[] = Object.values(value)
  return values.reduce<number>(
    (sum, each) => sum + countNames(each),
    Array.isArray(value) ? 0 : values.length,
  )
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

/** Characters that punctuation adds to each value, about. */
const VALUE_CHARS = 4

/** Returns about the length of a value as JSON; if it is more than `max`, any number above. */
export function countChars(value: unknown, max: number): number {
  if (typeof value === 'string') return value.length + VALUE_CHARS
  if (typeof value !== 'object' || value === null) return VALUE_CHARS
  let chars = VALUE_CHARS
  for (const [name, field] of Array.isArray(value) ? value.map(toUnnamed) : Object.entries(value)) {
    chars += name.length + countChars(field, max - chars)
    if (chars > max) return chars
  }
  return chars
}

function toUnnamed(item: unknown): readonly [string, unknown] {
  return ['', item]
}
