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

/** The object that a JSON text holds; undefined when it holds none. */
export function parseObject(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isJsonObject(value) ? value : undefined
  } catch {
    return undefined
  }
}
