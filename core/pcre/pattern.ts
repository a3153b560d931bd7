/**
 * A pattern as it is stored: a regular expression, a text that is matched without regard to case, or the name
 * of a preset.
 */
export interface PatternSource {
  readonly kind: 'regex' | 'literal' | 'preset'
  readonly text: string
}

/** What is known about a pattern without compiling it. `error` is a sentence without a final period. */
export type PatternAnalysis =
  | { readonly error: string }
  | {
      readonly engine: 're2' | 'backtracking'
      /**
       * A source for an `RE2.Set` without flags that matches every text the pattern matches. For the
       * backtracking engine it is an over-approximation. Undefined if RE2 cannot compile it, or not quickly.
       */
      readonly re2SetSource?: string
      /** See `findRequiredLiteral`. */
      readonly literal?: string | undefined
      /** An upper bound for the cost of each character of text in RE2; see `countPositions`. */
      readonly positions: number
      /** See `estimateRe2CompileCost`. */
      readonly compileCost: number
    }

/** A pattern of a set, in RE2 syntax with inline flags. */
export interface SetPattern {
  readonly source: string
  /** See `estimateRe2CompileCost`. */
  readonly compileCost: number
  /** Every match contains one of these; see `findRequiredLiteral`. Undefined if that is not known. */
  readonly literals?: readonly string[] | undefined
  /** Whether a text in ASCII that contains one of the literals, in any case, is a match. */
  readonly isLiteral?: boolean
}

/**
 * A pattern is invalid or not supported. Users see the message as the `pattern_error` of their rule: a
 * sentence without a final period.
 */
export class PatternError extends Error {}

/** The parts of a replacement: literal strings and group numbers. Group 0 is the whole match. */
export type Replacement = readonly (string | number)[]

/** Builds a replacement in which no character is special. */
export function literalReplacement(text: string): Replacement {
  return [text]
}

/** Parses a replacement like `preg_replace`: `$1`, `${1}` and `\1` are groups; `\\` and `\$` are escapes. */
export function parseReplacement(text: string): Replacement {
  const parts: (string | number)[] = []
  let position = 0
  for (const match of text.matchAll(ESCAPE_OR_GROUP)) {
    const [whole, escaped, ...groups] = match
    const group = Number(groups.find((digits) => digits !== undefined))
    parts.push(text.slice(position, match.index), escaped ?? group)
    position = match.index + whole.length
  }
  return [...parts, text.slice(position)]
}

const ESCAPE_OR_GROUP = /\\([\\$])|\\(\d{1,2})|\$(\d{1,2})|\$\{(\d{1,2})\}/g

/** Whether a replacement refers to groups. */
export function hasGroups(replacement: Replacement): boolean {
  return replacement.some((part) => typeof part === 'number')
}

/** The length of a replacement whose groups have one character each. */
export function replacementLength(replacement: Replacement): number {
  return replacement.reduce<number>((sum, part) => sum + (typeof part === 'string' ? part.length : 1), 0)
}

/** A pattern compiled for one engine. It runs on the calling thread until it ends. */
export interface EngineMatcher {
  /** Whether RE2 finds where a match may begin. Undefined if the matcher does not ask RE2 first. */
  mayMatch?(text: string): boolean
  test(text: string): boolean
  /** Replaces every non-empty match. Undefined if the result is longer than `maxMaskedLength`. */
  replace(text: string, replacement: Replacement): string | undefined
  /**
   * Finds the first match that begins at `from` or later; with a replacement, the first one that is not
   * empty.
   */
  find(text: string, from: number, replacement: Replacement | undefined): PatternMatch | undefined
}

/** A match: from `start` up to `end`, and what replaces it. */
export interface PatternMatch {
  /** Where it was found; less than `start` if the pattern has a `\K`. */
  readonly foundAt: number
  readonly start: number
  readonly end: number
  readonly replacement: string
}

/** What a mask may make of a text, in characters. */
export function maxMaskedLength(text: string): number {
  return maxMaskedLengthOf(text.length)
}

export function maxMaskedLengthOf(length: number): number {
  return 4 * length + 65_536
}

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
