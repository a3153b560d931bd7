import type { Node } from './ast.ts'
import { estimateV8CompileMicros } from './compile-cost.ts'
import type { EngineMatcher } from './matcher.ts'
import { startsAtSearchStart } from './node-properties.ts'
import { PatternError } from './pattern-error.ts'
import type { Replacement } from './replacement.ts'
import { removeEmptyMatches } from './rewrite.ts'
import { runWithTimeout } from './run-with-timeout.ts'
import { type RegExpSource, toRegExpSource } from './to-regexp.ts'

/** Runs a pattern on `RegExp`, under a deadline. Throws a `PatternFault` for what it would take too long to compile. */
export function createBacktrackingMatcher(root: Node): EngineMatcher {
  if (!isQuickToCompileInV8(root))
    throw new PatternError('it is too large for the engine that look-around and the like run on')
  const sticky = startsAtSearchStart(root) ? 'y' : ''
  const { source, flags } = toRegExpSource(root)
  const regex = new RegExp(source, flags + sticky)
  let forReplacing: { readonly regex: RegExp; readonly written: RegExpSource } | undefined
  return {
    test(text, milliseconds) {
      return runWithTimeout(milliseconds, () => {
        regex.lastIndex = 0
        return regex.test(text)
      })
    },
    replace(text, replacement, milliseconds) {
      if (forReplacing === undefined) {
        const written = toRegExpSource(removeEmptyMatches(root) ?? root)
        const indices = written.keepGroups.length === 0 ? '' : 'd'
        forReplacing = { regex: new RegExp(written.source, `g${written.flags}${sticky}${indices}`), written }
      }
      const { regex, written } = forReplacing
      return runWithTimeout(milliseconds, () => replaceMatches(regex, written, text, replacement))
    },
  }
}

/** Whether V8 compiles the pattern within 5 ms or so, which no deadline can cut short. */
export function isQuickToCompileInV8(root: Node): boolean {
  return estimateV8CompileMicros(root) <= 5000
}

function replaceMatches(
  regex: RegExp,
  written: RegExpSource,
  text: string,
  replacement: Replacement,
): string {
  const pieces: string[] = []
  let from = 0
  for (const match of text.matchAll(regex)) {
    const keeps = written.keepGroups.map((name) => match.indices?.groups?.[name]?.[0] ?? 0)
    const start = Math.max(match.index, ...keeps)
    const end = match.index + match[0].length
    if (start === end) continue
    pieces.push(
      text.slice(from, start),
      expandReplacement(replacement, text.slice(start, end), match.groups, written.groupNames),
    )
    from = end
  }
  return pieces.join('') + text.slice(from)
}

function expandReplacement(
  replacement: Replacement,
  match: string,
  groups: Readonly<Record<string, string | undefined>> = {},
  slots: RegExpSource['groupNames'],
): string {
  return replacement
    .map((piece) => {
      if (typeof piece === 'string') return piece
      if (piece === 0) return match
      return (slots.get(piece) ?? []).map((name) => groups[name] ?? '').join('')
    })
    .join('')
}
