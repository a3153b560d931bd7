import RE2 from 're2'
import { lazy } from './lazy.ts'
import { type EngineMatcher, maxMaskedLength, type PatternMatch, type Replacement } from './pattern.ts'
import type { Re2Source } from './to-re2.ts'

/**
 * Returns a text that RE2's binding searches to its end: with some versions of Node, the binding cuts the end
 * off a text that contains half of a surrogate pair. Indexes stay the same.
 */
export function toRe2Text(text: string): string {
  return text.isWellFormed() ? text : text.toWellFormed()
}

interface Re2MatcherOptions {
  readonly re2Source: Re2Source
  /** Translates the pattern without its empty matches; undefined if RE2 cannot express that. */
  readonly buildNonEmptySource: () => Re2Source | undefined
  /** Creates a matcher for what RE2 cannot run. */
  readonly createFallback: () => EngineMatcher
}

/** Creates a matcher on RE2, which compiles the pattern on first use. */
export function createRe2Matcher(options: Re2MatcherOptions): EngineMatcher {
  const testing = lazy(() => new RE2(options.re2Source.source, 'u'))
  const replacing = lazy(() => {
    const re2Source = options.buildNonEmptySource()
    return re2Source && { regex: new RE2(re2Source.source, 'gu'), re2Source }
  })
  // Not the ones above: RE2's `replace` does nothing if a search left a `lastIndex` beyond the text.
  const finding = lazy(() => new RE2(options.re2Source.source, 'gu'))
  const findingNonEmpty = lazy(() => new RE2(replacing()?.re2Source.source ?? '', 'gu'))
  const fallback = lazy(options.createFallback)
  return {
    test: (text) => testing().test(toRe2Text(text)),
    replace(text, replacement) {
      const compiled = replacing()
      const template = compiled && toTemplate(replacement, compiled.re2Source)
      if (compiled === undefined || template === undefined) return fallback().replace(text, replacement)
      const { regex, re2Source } = compiled
      const searched = toRe2Text(text)
      if (exceedsResultLimit(regex, re2Source, searched, replacement)) return undefined
      const result = searched.replace(regex, template)
      if (result.length > maxMaskedLength(text)) return undefined
      // Nothing was replaced, so half a pair stays as it was.
      return result === searched ? text : result
    },
    find(text, from, replacement) {
      if (replacement === undefined) return findFrom(finding(), options.re2Source, text, from, [])
      const compiled = replacing()
      if (compiled === undefined) return fallback().find(text, from, replacement)
      return findFrom(findingNonEmpty(), compiled.re2Source, text, from, replacement)
    },
  }
}

function findFrom(
  regex: RE2,
  { groups, newlineGroups }: Re2Source,
  text: string,
  from: number,
  replacement: Replacement,
): PatternMatch | undefined {
  regex.lastIndex = from
  const match = regex.exec(toRe2Text(text))
  if (match === null) return undefined
  const captured = (numbers: readonly number[]) => numbers.map((group) => match[group] ?? '').join('')
  const start = match.index
  const end = start + match[0].length - captured(newlineGroups).length
  const parts = replacement.map((part) => {
    if (typeof part === 'string') return part
    return part === 0 ? text.slice(start, end) : captured(groups.get(part) ?? [])
  })
  return { foundAt: start, start, end, replacement: parts.join('') }
}

/** RE2 builds the whole result at once. Up to this length it may be built and measured. */
const MAX_BUILT_LENGTH = 32_000_000

/** Computes how long the result can be, from the number of matches and their length, before it is built. */
function exceedsResultLimit(
  regex: RE2,
  re2Source: Re2Source,
  text: string,
  replacement: Replacement,
): boolean {
  const [literalLength, references] = measureReplacement(replacement)
  const limit = Math.max(maxMaskedLength(text), MAX_BUILT_LENGTH)
  if (text.length * (1 + literalLength + references) <= limit) return false
  const newlines = toGroupReferences(re2Source.newlineGroups)
  const kept = text.replace(regex, newlines).length
  const matches = text.replace(regex, `x${newlines}`).length - kept
  const matchedLength = text.length - kept
  const shortest = kept + matches * literalLength
  if (shortest > maxMaskedLength(text)) return true
  return shortest + matchedLength * references > limit
}

/** The length of the literal parts, and the number of groups that are inserted. */
function measureReplacement(replacement: Replacement): readonly [number, number] {
  const literals = replacement.filter((part) => typeof part === 'string')
  const length = literals.reduce((sum, part) => sum + part.length, 0)
  return [length, replacement.length - literals.length]
}

/**
 * Translates a replacement to JavaScript's syntax and restores a captured final newline. Returns undefined
 * for what that syntax cannot express: a group above 99, several groups of one number, or the whole match if
 * it may include the final newline.
 */
function toTemplate(replacement: Replacement, { groups, newlineGroups }: Re2Source): string | undefined {
  const references = replacement.map((part) => (typeof part === 'number' ? (groups.get(part) ?? []) : []))
  // After a branch reset, several groups share a number, and RE2 does not say which one was set last.
  if (references.some(({ length }) => length > 1)) return undefined
  const used = references.flat()
  if ([...used, ...newlineGroups].some((group) => group > 99)) return undefined
  if (replacement.includes(0) && newlineGroups.length > 0) return undefined
  const parts = replacement.map((part) => {
    if (part === 0) return '$&'
    return typeof part === 'string' ? part.replaceAll('$', '$$$$') : toGroupReferences(groups.get(part) ?? [])
  })
  return parts.join('') + toGroupReferences(newlineGroups)
}

function toGroupReferences(groups: readonly number[]): string {
  return groups.map((group) => `$${String(group).padStart(2, '0')}`).join('')
}

/** Finds where a match may begin. */
export interface CandidateFinder {
  /** Whether there may be a match anywhere in the text. */
  test(text: string): boolean
  /** The first index from `from` at which a match may begin; -1 if there is none. */
  find(text: string, from: number): number
}

export const EVERY_POSITION: CandidateFinder = {
  test: () => true,
  find: (_, from) => from,
}

/**
 * Creates a finder from over-approximations of a pattern in RE2's syntax: every match of the pattern begins
 * where a match of `startSource` begins, and a text with a match matches `source`. See
 * docs/decisions/firewall.md, "An over-approximation in RE2 finds where backtracking starts".
 */
export function createCandidateFinder(source: string, startSource: string): CandidateFinder {
  const whole = lazy(() => new RE2(source, 'u'))
  const start = lazy(() => new RE2(startSource, 'gu'))
  return {
    test: (text) => whole().test(toRe2Text(text)),
    find(text, from) {
      const regex = start()
      regex.lastIndex = from
      return regex.exec(toRe2Text(text))?.index ?? -1
    },
  }
}

/** After this many candidates close to each other, the engine searches the rest of the text itself. */
const MAX_DENSE_CANDIDATES = 64
const DENSE_GAP = 200

/** Decides between trying single candidates and searching the rest of a text, which is cheaper for many. */
export class CandidateDensity {
  private denseCount = 0
  private last = 0

  /** True once candidates have been close to each other for a while. */
  get isDense(): boolean {
    return this.denseCount > MAX_DENSE_CANDIDATES
  }

  record(candidate: number): void {
    this.denseCount = candidate - this.last < DENSE_GAP ? this.denseCount + 1 : 0
    this.last = candidate
  }
}
