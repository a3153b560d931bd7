import { type FoldedText, foldText } from './folded-text.ts'
import {
  type EngineMatcher,
  maxMaskedLength,
  type PatternMatch,
  type PatternMatcher,
  type Replacement,
  type ScannedText,
  type ScanResult,
} from './pattern.ts'
import type { Preset } from './presets/preset.ts'
import type { CandidateFinder } from './re2-matcher.ts'

/** How much of the text in front of a match is looked at. */
const SEEN_BEFORE = 16

/**
 * Creates the matcher of a preset: a search with V8's `RegExp`, whose matches count only as far as they are
 * valid. The replacement is literal.
 */
export function createPresetMatcher(preset: Preset, regex: RegExp, finder?: CandidateFinder): EngineMatcher {
  const validate = preset.validate ?? ((match: string) => match.length)

  /** The next valid value from `from`. */
  function find(text: string, from: number): { readonly start: number; readonly end: number } | undefined {
    regex.lastIndex = from
    for (let match = regex.exec(text); match !== null; match = regex.exec(text)) {
      const length = validate(match[0], text.slice(Math.max(0, match.index - SEEN_BEFORE), match.index))
      if (length > 0) return { start: match.index, end: match.index + length }
      // A valid value may begin within a match that is not valid.
      regex.lastIndex = match.index + 1
    }
    return undefined
  }

  const mayMatch = (text: string) => finder?.test(text) ?? true
  return {
    mayMatch,
    test: (text) => mayMatch(text) && find(text, 0) !== undefined,
    replace: (text, replacement) =>
      mayMatch(text) ? replaceMatches(text, replacement, (from) => find(text, from)) : text,
    find(text, from, replacement) {
      const found = find(text, from)
      return found && { foundAt: found.start, ...found, replacement: replacement?.join('') ?? '' }
    },
  }
}

/** Puts a literal replacement in place of all matches. Undefined if the result is too long. */
function replaceMatches(
  text: string,
  replacement: Replacement,
  find: (from: number) => Pick<PatternMatch, 'start' | 'end'> | undefined,
): string | undefined {
  const literal = replacement.join('')
  const parts: string[] = []
  let position = 0
  let length = text.length
  for (let found = find(0); found !== undefined; found = find(found.end)) {
    length += literal.length - (found.end - found.start)
    if (length > maxMaskedLength(text)) return undefined
    parts.push(text.slice(position, found.start), literal)
    position = found.end
  }
  return parts.join('') + text.slice(position)
}

/** Makes a matcher search texts as `foldText` reads them. What it finds are parts of the original texts. */
export function foldTexts(matcher: PatternMatcher): PatternMatcher {
  const foldedOf = (text: string) => foldText(text)?.text ?? text

  function findFolded(
    folded: FoldedText,
    from: number,
    replacement: Replacement | undefined,
  ): PatternMatch | undefined {
    const match = matcher.find(folded.text, folded.foldedIndex(from), replacement)
    return match && toOriginal(match, folded)
  }

  function scanFolded<Result extends ScanResult | undefined>(
    scan: (scanned: ScannedText) => Result,
    scanned: ScannedText,
  ): ScanResult | Result {
    const folded = foldText(scanned.text)
    if (folded === undefined) return scan(scanned)
    const result = scan({ ...scanned, text: folded.text, from: folded.foldedIndex(scanned.from) })
    if (result === undefined) return result
    return {
      matches: result.matches.map((match) => toOriginal(match, folded)),
      openFrom: folded.originalStart(result.openFrom),
      openMatch: result.openMatch && toOriginal(result.openMatch, folded),
    }
  }
  return {
    mayMatch: (text) => matcher.mayMatch?.(foldedOf(text)) ?? true,
    test: (text) => matcher.test(foldedOf(text)),
    replace(text, replacement) {
      const folded = foldText(text)
      if (folded === undefined) return matcher.replace(text, replacement)
      return replaceMatches(text, replacement, (from) => findFolded(folded, from, replacement))
    },
    find(text, from, replacement) {
      const folded = foldText(text)
      return folded ? findFolded(folded, from, replacement) : matcher.find(text, from, replacement)
    },
    scan: (scanned) => scanFolded(matcher.scan, scanned),
    scanInRe2: (scanned) => scanFolded(matcher.scanInRe2, scanned),
  }
}

function toOriginal(match: PatternMatch, folded: FoldedText): PatternMatch {
  return {
    ...match,
    foundAt: folded.originalStart(match.foundAt),
    start: folded.originalStart(match.start),
    end: folded.originalEnd(match.end),
  }
}
