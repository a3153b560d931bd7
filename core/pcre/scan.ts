import type RE2 from 're2'
import type { EngineMatcher, PatternMatch } from './matcher.ts'
import { toRe2Text } from './re2-text.ts'
import type { Replacement } from './replacement.ts'

/** A part of a text, whose continuation has not arrived yet. */
export interface ScannedText {
  /** Begins with text that was scanned before, for patterns that look behind. */
  readonly text: string
  /** Matches begin here or later. */
  readonly from: number
  /** Undefined to find one match, which may be empty; otherwise every match that is not empty. */
  readonly replacement: Replacement | undefined
}

export interface ScanResult {
  /** The matches that no further text can change, in order. */
  readonly matches: readonly PatternMatch[]
  /** Further text can begin, extend or decide a match from this index on; the length of the text if none. */
  readonly openFrom: number
  /** The first match from `openFrom` on, if no text follows. */
  readonly openMatch: PatternMatch | undefined
}

/** Matches a pattern in whole texts and in texts of which more will follow. */
export interface PatternMatcher extends EngineMatcher {
  scan(scanned: ScannedText): ScanResult
  /** Scans with RE2 alone; undefined if the text may hold a match that only the other engine can find. */
  scanInRe2(scanned: ScannedText): ScanResult | undefined
}

/** Scans a text of which more will follow. `open` finds open matches; undefined: any text could be one. */
export function scanText(
  matcher: EngineMatcher,
  open: RE2 | undefined,
  { text, from, replacement }: ScannedText,
): ScanResult {
  const matches: PatternMatch[] = []
  let openFrom = findOpen(open, text, from)
  for (let position = from; ; ) {
    const match = matcher.find(text, position, replacement)
    if (match === undefined || match.foundAt >= openFrom) return { matches, openFrom, openMatch: match }
    matches.push(match)
    if (replacement === undefined) return { matches, openFrom, openMatch: undefined }
    position = match.end
    if (position > openFrom) openFrom = findOpen(open, text, position)
  }
}

/** The first index from which a match is open; the length of the text if there is none. */
export function findOpen(open: RE2 | undefined, text: string, from: number): number {
  if (open === undefined) return from
  const found = open.exec(toRe2Text(text.slice(from)))
  return found === null ? text.length : from + found.index
}
