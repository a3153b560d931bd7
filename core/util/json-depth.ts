/** Deeper values overflow the stack of code that visits them, such as `JSON.stringify` at some thousands. */
export const MAX_JSON_DEPTH = 200

/** A JSON text of at most this length cannot be nested too deep: each level takes two brackets. */
export const SAFE_JSON_LENGTH = 2 * MAX_JSON_DEPTH

/** Whether objects and arrays are nested more than `maxDepth` levels deep in a JSON value. */
export function isNestedTooDeep(value: unknown, maxDepth: number = MAX_JSON_DEPTH): boolean {
  return typeof value === 'object' && value !== null && exceedsDepth(value, maxDepth)
}

/** Takes half the time of a call for every value. */
function exceedsDepth(value: object, maxDepth: number): boolean {
  if (maxDepth === 0) return true
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) {
      const item: unknown = value[index]
      if (typeof item === 'object' && item !== null && exceedsDepth(item, maxDepth - 1)) return true
    }
    return false
  }
  // Parsed JSON inherits no fields.
  for (const name in value) {
    const field = (value as Readonly<Record<string, unknown>>)[name]
    if (typeof field === 'object' && field !== null && exceedsDepth(field, maxDepth - 1)) return true
  }
  return false
}
