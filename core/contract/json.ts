/** A JSON object whose fields have not been validated. */
export interface JsonObject {
  readonly [field: string]: unknown
}

/** True for an object that is not an array and not null. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
