import type { Replacement } from './replacement.ts'

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
