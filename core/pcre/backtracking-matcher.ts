import type { Node } from './ast.ts'
import { estimateV8CompileMicros } from './compile-cost.ts'
import type { EngineMatcher } from './matcher.ts'
import { startsAtSearchStart } from './node-properties.ts'
import { PatternError } from './pattern-error.ts'
import type { Replacement } from './replacement.ts'
import { removeEmptyMatches } from './rewrite.ts'
import { runWithTimeout } from './run-with-timeout.ts'
import { type RegExpSource, toRegExpSource } from './to-regexp.ts'

/** Creates a matcher on V8's `RegExp`. Throws a `PatternError` if the pattern is too large to compile. */
export function createBacktrackingMatcher(root: Node): EngineMatcher {
  if (!isQuickToCompileInV8(root)) throw new PatternError('The pattern is too large to compile')
  const sticky = startsAtSearchStart(root) ? 'y' : ''
  const { source, flags } = toRegExpSource(root)
  const regex = new RegExp(source, flags + sticky)
  let replacing: { readonly regex: RegExp; readonly regExpSource: RegExpSource } | undefined
  return {
    test(text, timeoutMs) {
      return runWithTimeout(timeoutMs, () => {
        regex.lastIndex = 0
        return regex.test(text)
      })
    },
    replace(text, replacement, timeoutMs) {
      if (replacing === undefined) {
        const regExpSource = toRegExpSource(removeEmptyMatches(root) ?? root)
        const indices = regExpSource.keepGroups.length === 0 ? '' : 'd'
        const replaceFlags = `g${regExpSource.flags}${sticky}${indices}`
        replacing = { regex: new RegExp(regExpSource.source, replaceFlags), regExpSource }
      }
      const { regex, regExpSource } = replacing
      return runWithTimeout(timeoutMs, () => replaceMatches(regex, regExpSource, text, replacement))
    },
  }
}

const MAX_COMPILE_MICROS = 5000

/** Whether V8 compiles the pattern within about 5 ms. No timeout can interrupt the compilation. */
export function isQuickToCompileInV8(root: Node): boolean {
  return estimateV8CompileMicros(root) <= MAX_COMPILE_MICROS
}

function replaceMatches(
  regex: RegExp,
  { keepGroups, groupNames }: RegExpSource,
  text: string,
  replacement: Replacement,
): string {
  const parts: string[] = []
  let position = 0
  for (const match of text.matchAll(regex)) {
    const keeps = keepGroups.map((name) => match.indices?.groups?.[name]?.[0] ?? 0)
    const start = Math.max(match.index, ...keeps)
    const end = match.index + match[0].length
    if (start === end) continue
    const replaced = expandReplacement(replacement, text.slice(start, end), match.groups, groupNames)
    parts.push(text.slice(position, start), replaced)
    position = end
  }
  return parts.join('') + text.slice(position)
}

function expandReplacement(
  replacement: Replacement,
  match: string,
  captures: Readonly<Record<string, string | undefined>> = {},
  groupNames: RegExpSource['groupNames'],
): string {
  return replacement
    .map((part) => {
      if (typeof part === 'string') return part
      if (part === 0) return match
      return (groupNames.get(part) ?? []).map((name) => captures[name] ?? '').join('')
    })
    .join('')
}
