import { type FoldedText, foldText } from './folded-text.ts'
import type { PatternMatch } from './matcher.ts'
import { replaceMatches } from './preset-matcher.ts'
import type { Replacement } from './replacement.ts'
import type { PatternMatcher, ScannedText, ScanResult } from './scan.ts'

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
