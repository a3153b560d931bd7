import type { Replacement } from './replacement.ts'

/** A compiled pattern on one engine. Both answer undefined when they would need, or have taken, more than the given time. */
export interface EngineMatcher {
  test(text: string, milliseconds: number): boolean | undefined
  /** Replaces every match that is not empty. */
  replace(text: string, replacement: Replacement, milliseconds: number): string | undefined
}

/** A matcher that needs no deadline: what would take long can be done on another thread. */
export interface Re2Matcher extends EngineMatcher {
  /** Whether the text can be run through, or with a replacement rewritten, here and now. */
  isQuick(text: string, replacement?: Replacement): boolean
  /** Undefined when RE2 refuses. */
  testAsync(text: string): Promise<boolean | undefined>
  replaceAsync(text: string, replacement: Replacement): Promise<string | undefined>
}
