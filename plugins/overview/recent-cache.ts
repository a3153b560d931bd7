/** Returns a function whose results are shared for a time. Failures are not. There must be few keys. */
export function createRecentCache<Key, Value>(
  read: (key: Key) => Promise<Value>,
  maxAgeMs: number,
): (key: Key) => Promise<Value> {
  const entries = new Map<Key, { readonly at: number; readonly value: Promise<Value> }>()
  return (key) => {
    const known = entries.get(key)
    if (known !== undefined && performance.now() - known.at < maxAgeMs) return known.value
    const value = read(key)
    entries.set(key, { at: performance.now(), value })
    value.catch(() => entries.delete(key))
    return value
  }
}
