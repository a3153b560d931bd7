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
