import { isJsonObject, type JsonObject } from '../../core/contract/json.ts'

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
