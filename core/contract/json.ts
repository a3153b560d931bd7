/** A JSON object whose fields have not been validated. */
export interface JsonObject {
  readonly [field: string]: unknown
}

/** A value or a promise of it. Avoids a microtask on hot paths that rarely wait. */
export type MaybePromise<Value> = Value | Promise<Value>

/** True for an object that is not an array and not null. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
