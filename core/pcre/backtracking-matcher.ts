import { estimateV8CompileMicros, type Node, startsAtSearchStart } from './ast.ts'
import { lazy } from './lazy.ts'
import {
  type EngineMatcher,
  maxMaskedLength,
  PatternError,
  type PatternMatch,
  type Replacement,
} from './pattern.ts'
import { CandidateDensity, type CandidateFinder, EVERY_POSITION } from './re2-matcher.ts'
import { type RegExpSource, toRegExpSource } from './to-regexp.ts'

/**
 * Creates a matcher on V8's `RegExp` for a pattern that cannot match the empty string. With a finder, it
 * tries only where a match may begin. Throws a `PatternError` if the pattern is too large to compile.
 */
export function createBacktrackingMatcher(root: Node, finder?: CandidateFinder): EngineMatcher {
  if (!isQuickToCompileInV8(root)) throw new PatternError('The pattern is too large to compile')
  const candidates = startsAtSearchStart(root) ? SEARCH_START : (finder ?? EVERY_POSITION)
  const search = lazy(() => {
    const source = toRegExpSource(root)
    return compileSearch(source, source.keepGroups.length === 0 ? '' : 'd')
  })
  return {
    mayMatch: candidates.test,
    test: (text) =>
      candidates.test(text) && findMatch(search(), text, 0, candidates, new CandidateDensity()) !== null,
    replace: (text, replacement) =>
      candidates.test(text)
        ? replaceMatches(createMatchFinder(search(), text, replacement, candidates), text)
        : text,
    find(text, from, replacement) {
      if (replacement !== undefined)
        return createMatchFinder(search(), text, replacement, candidates)(from)?.match
      const match = findMatch(search(), text, from, candidates, new CandidateDensity())
      if (match === null) return undefined
      const { index } = match
      return { foundAt: index, start: index, end: index + match[0].length, replacement: '' }
    },
  }
}

const MAX_COMPILE_MICROS = 5000

/** Whether V8 compiles the pattern within about 5 ms. No timeout can interrupt the compilation. */
export function isQuickToCompileInV8(root: Node): boolean {
  return estimateV8CompileMicros(root) <= MAX_COMPILE_MICROS
}

/** For patterns that match only where a search starts: at the start of the text, or after another match. */
const SEARCH_START: CandidateFinder = { ...EVERY_POSITION }

interface Search {
  readonly source: RegExpSource
  /** Matches at `lastIndex` only. */
  readonly atIndex: RegExp
  /** Searches from `lastIndex`. */
  readonly fromIndex: RegExp
}

function compileSearch(source: RegExpSource, flags: string): Search {
  const compile = (mode: string) => new RegExp(source.source, source.flags + flags + mode)
  return { source, atIndex: compile('y'), fromIndex: compile('g') }
}

/** Finds the first match from `from`. */
function findMatch(
  { atIndex, fromIndex }: Search,
  text: string,
  from: number,
  candidates: CandidateFinder,
  density: CandidateDensity,
): RegExpExecArray | null {
  if (candidates === EVERY_POSITION || density.isDense) return execAt(fromIndex, text, from)
  for (let index = from; ; index = nextCodePoint(text, index)) {
    index = candidates.find(text, index)
    if (index === -1 || index > text.length) return null
    if (candidates !== SEARCH_START) density.record(index)
    if (density.isDense) return execAt(fromIndex, text, index)
    const match = execAt(atIndex, text, index)
    if (match !== null || candidates === SEARCH_START) return match
  }
}

function execAt(regex: RegExp, text: string, index: number): RegExpExecArray | null {
  regex.lastIndex = index
  return regex.exec(text)
}

function nextCodePoint(text: string, index: number): number {
  return index + ((text.codePointAt(index) ?? 0) > 0xffff ? 2 : 1)
}

/** Returns the first non-empty match from an index, and where to search for the next one. */
type MatchFinder = (from: number) => { readonly match: PatternMatch; readonly next: number } | undefined

function createMatchFinder(
  search: Search,
  text: string,
  replacement: Replacement,
  candidates: CandidateFinder,
): MatchFinder {
  const { keepGroups, groupNames } = search.source
  const density = new CandidateDensity()
  return (searchFrom) => {
    let from = searchFrom
    for (;;) {
      const match = from > text.length ? null : findMatch(search, text, from, candidates, density)
      if (match === null) return undefined
      const keeps = keepGroups.map((name) => match.indices?.groups?.[name]?.[0] ?? 0)
      const start = Math.max(match.index, ...keeps)
      const end = match.index + match[0].length
      from = end > match.index ? end : nextCodePoint(text, end)
      if (start === end) continue
      const replaced = expandReplacement(replacement, text.slice(start, end), match.groups, groupNames)
      return { match: { foundAt: match.index, start, end, replacement: replaced }, next: from }
    }
  }
}

function replaceMatches(findNext: MatchFinder, text: string): string | undefined {
  const parts: string[] = []
  let position = 0
  let length = text.length
  for (let found = findNext(0); found !== undefined; found = findNext(found.next)) {
    const { start, end, replacement } = found.match
    length += replacement.length - (end - start)
    if (length > maxMaskedLength(text)) return undefined
    parts.push(text.slice(position, start), replacement)
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
