import { isJsonObject, type JsonObject } from '../core/contract/json.ts'

/** The string, or an empty one for anything else. */
export function readString(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/** The number; undefined for anything else. */
export function readNumber(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined
}

/** The object, or an empty one for anything else. */
export function readObject(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {}
}

/** The objects of a list; none for anything else. */
export function readObjects(value: unknown): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : []
}

/** What a JSON text holds; undefined when it is none: proxies in front of a vendor answer with HTML, or with nothing. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The object that a JSON text holds; undefined when it holds none. */
export function parseObject(text: string): JsonObject | undefined {
  const value = parseJson(text)
  return isJsonObject(value) ? value : undefined
}
