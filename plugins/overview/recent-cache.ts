/** Returns a function whose results are shared for a time. Failures are not. */
export function createRecentCache<Key, Value>(
  read: (key: Key) => Promise<Value>,
  maxAgeMs: number,
): (key: Key) => Promise<Value> {
  const entries = new Map<Key, { readonly at: number; readonly value: Promise<Value> }>()
  return (key) => {
    const now = performance.now()
    for (const [old, { at }] of entries) if (now - at >= maxAgeMs) entries.delete(old)
    const known = entries.get(key)
    if (known !== undefined) return known.value
    const value = read(key)
    entries.set(key, { at: now, value })
    value.catch(() => entries.delete(key))
    return value
  }
}
