import { isJsonObject } from '../../core/contract/index.ts'

/** Parses a JSON pointer (RFC 6901) that was validated: the names that lead to the value. */
export function parsePointer(pointer: string): readonly string[] {
  return pointer
    .split('/')
    .slice(1)
    .map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~'))
}

/** Returned by `findValue` for a value that is not there. */
export const ABSENT = Symbol('absent')

/** Returns the value that the names lead to. */
export function findValue(value: unknown, names: readonly string[]): unknown {
  let found = value
  for (const name of names) {
    if (Array.isArray(found)) {
      if (!ARRAY_INDEX.test(name) || Number(name) >= found.length) return ABSENT
      found = found[Number(name)]
    } else if (isJsonObject(found) && Object.hasOwn(found, name)) found = found[name]
    else return ABSENT
  }
  return found
}

/** RFC 6901 allows no leading zeros. */
const ARRAY_INDEX = /^(?:0|[1-9]\d*)$/

/** Compares JSON deeply. Unlike in `isDeepStrictEqual`, 0 is -0. */
export function equalsJson(a: unknown, b: unknown): boolean {
  if (a === b) return true
  if (Array.isArray(a))
    return Array.isArray(b) && a.length === b.length && a.every((item, index) => equalsJson(item, b[index]))
  if (!isJsonObject(a) || !isJsonObject(b)) return false
  const names = Object.keys(a)
  return (
    names.length === Object.keys(b).length &&
    names.every((name) => Object.hasOwn(b, name) && equalsJson(a[name], b[name]))
  )
}

/** Every text, name, number and boolean in a JSON value, as texts. */
export function textsOf(value: unknown): readonly string[] {
  const texts: string[] = []
  const pending: unknown[] = [value]
  while (pending.length > 0) {
    const next = pending.pop()
    if (typeof next === 'string') texts.push(next)
    else if (typeof next === 'number' || typeof next === 'boolean') texts.push(String(next))
    else if (typeof next === 'object' && next !== null) {
      const isList = Array.isArray(next)
      for (const [name, inner] of Object.entries(next)) {
        if (!isList) texts.push(name)
        pending.push(inner)
      }
    }
  }
  return texts
}
