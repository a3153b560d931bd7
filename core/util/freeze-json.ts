/** Freezes a JSON value at any depth, except what is frozen already. */
export function freezeJson(value: unknown): void {
  const pending: unknown[] = [value]
  while (pending.length > 0) {
    const next = pending.pop()
    if (typeof next !== 'object' || next === null || Object.isFrozen(next) || ArrayBuffer.isView(next))
      continue
    Object.freeze(next)
    for (const inner of Object.values(next)) if (typeof inner === 'object') pending.push(inner)
  }
}
