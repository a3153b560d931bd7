import type { Node } from './ast.ts'
import { countCompileTime } from './compile-cost.ts'
import type { Matcher } from './matcher.ts'
import { startsAtSearch } from './node-properties.ts'
import { PatternFault } from './pattern-error.ts'
import type { Replacement } from './replacement.ts'
import { withoutEmpty } from './rewrite.ts'
import { runWithin } from './run-with-timeout.ts'
import { type RegExpSource, writeRegExp } from './to-regexp.ts'

/** Runs a pattern on `RegExp`, under a deadline. Throws a `PatternFault` for what it would take too long to compile. */
export function createBacktracking(root: Node): Matcher {
  if (!canBacktrack(root))
    throw new PatternFault('it is too large for the engine that look-around and the like run on')
  const sticky = startsAtSearch(root) ? 'y' : ''
  const { source, flags } = writeRegExp(root)
  const regex = new RegExp(source, flags + sticky)
  let forReplacing: { readonly regex: RegExp; readonly written: RegExpSource } | undefined
  return {
    test(text, milliseconds) {
      return runWithin(milliseconds, () => {
        regex.lastIndex = 0
        return regex.test(text)
      })
    },
    replace(text, replacement, milliseconds) {
      if (forReplacing === undefined) {
        const written = writeRegExp(withoutEmpty(root) ?? root)
        const indices = written.keeps.length === 0 ? '' : 'd'
        forReplacing = { regex: new RegExp(written.source, `g${written.flags}${sticky}${indices}`), written }
      }
      const { regex, written } = forReplacing
      return runWithin(milliseconds, () => replaceAll(regex, written, text, replacement))
    },
  }
}

/** Whether V8 compiles the pattern within 5 ms or so, which no deadline can cut short. */
export function canBacktrack(root: Node): boolean {
  return countCompileTime(root) <= 5000
}

function replaceAll(regex: RegExp, written: RegExpSource, text: string, replacement: Replacement): string {
  const pieces: string[] = []
  let from = 0
  for (const match of text.matchAll(regex)) {
    const keeps = written.keeps.map((name) => match.indices?.groups?.[name]?.[0] ?? 0)
    const start = Math.max(match.index, ...keeps)
    const end = match.index + match[0].length
    if (start === end) continue
    pieces.push(
      text.slice(from, start),
      expand(replacement, text.slice(start, end), match.groups, written.slots),
    )
    from = end
  }
  return pieces.join('') + text.slice(from)
}

function expand(
  replacement: Replacement,
  match: string,
  groups: Readonly<Record<string, string | undefined>> = {},
  slots: RegExpSource['slots'],
): string {
  return replacement
    .map((piece) => {
      if (typeof piece === 'string') return piece
      if (piece === 0) return match
      return (slots.get(piece) ?? []).map((name) => groups[name] ?? '').join('')
    })
    .join('')
}
