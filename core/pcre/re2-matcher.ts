import RE2 from 're2'
import { runInRegexWorker } from '../text/regex-worker-client.ts'
import { lazy } from '../util/lazy.ts'
import type { EngineMatcher, Re2Matcher } from './matcher.ts'
import type { Replacement } from './replacement.ts'
import { runInRe2Worker } from './run-in-worker.ts'
import type { Re2Source } from './to-re2.ts'

interface Re2MatcherOptions {
  readonly re2Source: Re2Source
  /** Translates the pattern without its empty matches; undefined if RE2 cannot express that. */
  readonly buildNonEmptySource: () => Re2Source | undefined
  /** See `countPositions`. */
  readonly positions: number
  /**
   * Creates a matcher for what RE2 cannot run, or cannot run quickly while the worker thread is busy;
   * undefined if there is none.
   */
  readonly createFallback: () => EngineMatcher | undefined
}

/** Creates a matcher on RE2, which compiles the pattern on first use. */
export function createRe2Matcher(options: Re2MatcherOptions): Re2Matcher {
  const { re2Source, buildNonEmptySource, positions, createFallback } = options
  const testing = lazy(() => compileRe2(re2Source, 'u'))
  const replacing = lazy(() => compileRe2(buildNonEmptySource(), 'gu'))
  const isWithin = (text: string, limitMs: number) => positions * text.length * MAX_MS_PER_STEP <= limitMs

  function prepareReplace(replacement: Replacement) {
    const compiled = replacing()
    const template = compiled && toTemplate(replacement, compiled.re2Source)
    if (compiled === undefined || template === undefined) return undefined
    return { regex: compiled.regex, source: compiled.re2Source.source, template }
  }

  return {
    isQuick: (text, replacement) =>
      isWithin(text, MAX_EVENT_LOOP_MS) && (replacement === undefined || isResultBounded(text, replacement)),
    async testAsync(text) {
      const result = await runInRegexWorker({ type: 'test', source: re2Source.source, text })
      return typeof result === 'boolean' ? result : undefined
    },
    async replaceAsync(text, replacement) {
      const prepared = prepareReplace(replacement)
      if (prepared === undefined) return undefined
      const { source, template } = prepared
      const result = await runInRegexWorker({ type: 'replace', source, text, template })
      return typeof result === 'string' ? result : undefined
    },
    test(text, timeoutMs) {
      const testFallback = () => createFallback()?.test(text, timeoutMs)
      if (isWithin(text, timeoutMs)) return testing()?.regex.test(text) ?? testFallback()
      return runInRe2Worker({ source: re2Source.source, text, template: undefined }, timeoutMs, testFallback)
    },
    replace(text, replacement, timeoutMs) {
      const replaceFallback = () => createFallback()?.replace(text, replacement, timeoutMs)
      const prepared = prepareReplace(replacement)
      if (prepared === undefined) return replaceFallback()
      const { regex, source, template } = prepared
      if (isWithin(text, timeoutMs) && isResultBounded(text, replacement))
        return text.replace(regex, template)
      return runInRe2Worker({ source, text, template }, timeoutMs, replaceFallback)
    },
  }
}

/** Undefined if there is no source or RE2 rejects it. */
function compileRe2(re2Source: Re2Source | undefined, flags: string) {
  try {
    return re2Source && { regex: new RE2(re2Source.source, flags), re2Source }
  } catch {
    return undefined
  }
}

/** A run on the event loop up to this estimate does not spend the budget. */
const MAX_EVENT_LOOP_MS = 2

/**
 * The worst case for one character of text and one position of the pattern. RE2 cannot be interrupted. It is
 * linear in the text, but once its automaton exceeds its memory, every position can cost this much for every
 * character: `a[ab]{900}c` takes 300 ms on 100 KB.
 */
const MAX_MS_PER_STEP = 8e-6

/** Characters of a result with every single character replaced; building it takes a few milliseconds. */
const MAX_RESULT_LENGTH = 4_000_000

function isResultBounded(text: string, replacement: Replacement): boolean {
  const length = replacement.reduce<number>(
    (sum, part) => sum + (typeof part === 'string' ? part.length : 1),
    0,
  )
  return text.length * length <= MAX_RESULT_LENGTH
}

/**
 * Translates a replacement to JavaScript's syntax and restores a captured final newline. Returns undefined
 * for what that syntax cannot express: a group above 99, or the whole match if it may include the final
 * newline.
 */
function toTemplate(replacement: Replacement, { groups, newlineGroups }: Re2Source): string | undefined {
  const used = replacement.flatMap((part) => (typeof part === 'number' ? (groups.get(part) ?? []) : []))
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
