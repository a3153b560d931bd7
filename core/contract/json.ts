/** A JSON object whose fields have not been read yet. */
export interface JsonObject {
  readonly [field: string]: unknown
}

/** True for a plain JSON object: not an array, not null. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
