import type { Replacement } from './replacement.ts'

/** A pattern compiled for one engine. It runs on the calling thread until it ends. */
export interface EngineMatcher {
  /** Whether RE2 finds where a match may begin. Undefined if the matcher does not ask RE2 first. */
  mayMatch?(text: string): boolean
  test(text: string): boolean
  /** Replaces every non-empty match. Undefined if the result is longer than `maxMaskedLength`. */
  replace(text: string, replacement: Replacement): string | undefined
}

/** What a mask may make of a text, in characters. */
export function maxMaskedLength(text: string): number {
  return 4 * text.length + 65_536
}
