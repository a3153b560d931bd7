/**
 * Compiles a glob: `*` stands for any characters, `?` for one, and nothing else is special. It must match the
 * whole name. Takes at most one step for each pair of characters.
 */
export function compileGlob(glob: string): (name: string) => boolean {
  if (!isGlob(glob)) return (name) => name === glob
  if (!glob.includes('?')) return matchParts(glob.split('*'))
  const pattern = [...glob]
  return (name) => matches(pattern, [...name])
}

/** The parts between the stars must follow each other in the name; the first one that fits does. */
function matchParts(parts: readonly string[]): (name: string) => boolean {
  const [first = '', last = ''] = [parts[0], parts.at(-1)]
  const between = parts.slice(1, -1).filter((part) => part !== '')
  return (name) => {
    const end = name.length - last.length
    if (end < first.length || !name.startsWith(first) || !name.endsWith(last)) return false
    let at = first.length
    for (const part of between) {
      const found = name.indexOf(part, at)
      if (found === -1) return false
      at = found + part.length
    }
    return at <= end
  }
}

function matches(pattern: readonly string[], name: readonly string[]): boolean {
  let at = 0
  /** The last star, and the first character that it does not stand for. */
  let star = -1
  let rest = 0
  for (let index = 0; index < name.length; ) {
    if (pattern[at] === '*') {
      star = at++
      rest = index
    } else if (at < pattern.length && (pattern[at] === '?' || pattern[at] === name[index])) {
      at++
      index++
    } else if (star >= 0) {
      at = star + 1
      index = ++rest
    } else return false
  }
  while (pattern[at] === '*') at++
  return at === pattern.length
}

/** Whether it may match several names. */
export function isGlob(pattern: string): boolean {
  return /[*?]/.test(pattern)
}
