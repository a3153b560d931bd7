import type { Replacement } from './replacement.ts'

/**
 * A pattern compiled for one engine. Both methods return undefined when a run exceeds, or would exceed, its
 * limit.
 */
export interface EngineMatcher {
  test(text: string, timeoutMs: number): boolean | undefined
  /** Replaces every non-empty match. */
  replace(text: string, replacement: Replacement, timeoutMs: number): string | undefined
}

/** A pattern compiled for RE2. It needs no timeout: expensive runs can be moved to a worker thread. */
export interface Re2Matcher extends EngineMatcher {
  /** Whether a test, or with a replacement a replace, is cheap enough for the event loop. */
  isQuick(text: string, replacement?: Replacement): boolean
  /** Runs on a worker thread. Resolves with undefined if RE2 cannot run the pattern. */
  testAsync(text: string): Promise<boolean | undefined>
  /** Runs on a worker thread. Resolves with undefined if RE2 cannot run the pattern. */
  replaceAsync(text: string, replacement: Replacement): Promise<string | undefined>
}
