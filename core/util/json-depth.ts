/** Deeper values overflow the stack of code that visits them, such as `JSON.stringify` at some thousands. */
export const MAX_JSON_DEPTH = 200

/** Whether objects and arrays are nested more than `maxDepth` levels deep in a JSON value. */
export function isNestedTooDeep(value: unknown, maxDepth: number = MAX_JSON_DEPTH): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (maxDepth === 0) return true
  if (Array.isArray(value)) return value.some((item) => isNestedTooDeep(item, maxDepth - 1))
  // Parsed JSON inherits no fields.
  for (const name in value) {
    if (isNestedTooDeep((value as Readonly<Record<string, unknown>>)[name], maxDepth - 1)) return true
  }
  return false
}
