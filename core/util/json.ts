import { isJsonObject, type JsonObject } from '../contract/json.ts'

/** Deeper values overflow the stack of code that visits them, such as `JSON.stringify` at some thousands. */
export const MAX_JSON_DEPTH = 200

/** A JSON text of at most this length cannot be nested too deep: each level takes two brackets. */
export const SAFE_JSON_LENGTH = 2 * MAX_JSON_DEPTH

/** Whether objects and arrays are nested more than `maxDepth` levels deep in a JSON value. */
function isNestedTooDeep(value: unknown, maxDepth: number = MAX_JSON_DEPTH): boolean {
  return (
    typeof value === 'object' && value !== null && countValues(value, maxDepth) === Number.POSITIVE_INFINITY
  )
}

/**
 * Returns the number of fields and items in a JSON value, at all levels; Infinity if it is nested more than
 * `maxDepth` levels deep. Takes half the time of a call for every value.
 */
export function countValues(value: object, maxDepth: number = MAX_JSON_DEPTH): number {
  if (maxDepth === 0) return Number.POSITIVE_INFINITY
  let count = 0
  if (Array.isArray(value)) {
    count = value.length
    for (let index = 0; index < value.length; index++) {
      const item: unknown = value[index]
      if (typeof item === 'object' && item !== null) count += countValues(item, maxDepth - 1)
    }
    return count
  }
  // Parsed JSON inherits no fields.
  for (const name in value) {
    const field = (value as Readonly<Record<string, unknown>>)[name]
    count++
    if (typeof field === 'object' && field !== null) count += countValues(field, maxDepth - 1)
  }
  return count
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const COLON = 0x3a
/** With this bit set, `[` is `{`. No other byte becomes it. */
const BRACE = 0x7b
const CASE_BIT = 0x20

/** Whether a JSON text has more fields and items than `max`, as far as commas and brackets tell. */
export function hasMoreValues(json: Buffer, max: number): boolean {
  let count = 0
  for (let index = 0; index < json.length; index++) {
    const byte = json[index] as number
    if (byte === QUOTE) {
      index = endOfString(json, index + 1)
      if (index === -1) return false
    } else if (byte === COMMA || (byte | CASE_BIT) === BRACE) {
      count++
      if (count > max) return true
    }
  }
  return false
}

/** Returns the place of the quote that ends a string; -1 if there is none. */
export function endOfString(json: Buffer, start: number): number {
  let end = json.indexOf(QUOTE, start)
  while (end !== -1) {
    let backslashes = 0
    while (json[end - 1 - backslashes] === BACKSLASH && end - 1 - backslashes >= start) backslashes++
    if (backslashes % 2 === 0) return end
    end = json.indexOf(QUOTE, end + 1)
  }
  return -1
}

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
  return countNames(value) === countWrittenNames(Buffer.from(text)) ? value : undefined
}

/** Returns the number of names in a valid JSON text: outside of strings, each colon follows one. */
export function countWrittenNames(json: Buffer): number {
  let count = 0
  for (let index = 0; index < json.length; index++) {
    if (json[index] === COLON) count++
    else if (json[index] === QUOTE) {
      index = endOfString(json, index + 1)
      if (index === -1) return count
    }
  }
  return count
}

/** Returns the number of fields in a JSON value, at all levels. */
export function countNames(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  let count = 0
  if (Array.isArray(value)) for (const item of value) count += countNames(item)
  // Parsed JSON inherits no fields.
  else for (const name in value) count += 1 + countNames((value as JsonObject)[name])
  return count
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

/** Freezes a JSON value at any depth, except what is frozen already. */
export function freezeJson(value: unknown): void {
  const pending: unknown[] = [value]
  while (pending.length > 0) {
    const next = pending.pop()
    if (typeof next !== 'object' || next === null || Object.isFrozen(next) || ArrayBuffer.isView(next))
      continue
    Object.freeze(next)
    for (const inner of Object.values(next)) if (typeof inner === 'object') pending.push(inner)
  }
}
