import RE2 from 're2'
import { runOnThread } from '../text/regex-thread.ts'
import { lazy } from '../util/lazy.ts'
import type { EngineMatcher, Re2Matcher } from './matcher.ts'
import type { Replacement } from './replacement.ts'
import { runInRe2Worker } from './run-in-worker.ts'
import type { Re2Source } from './to-re2.ts'

/** How a pattern runs on RE2. */
interface Re2MatcherOptions {
  readonly re2Source: Re2Source
  /** The pattern without its empty matches, for replacing; undefined when RE2 cannot do that. */
  readonly buildNonEmptySource: () => Re2Source | undefined
  /** How many characters the pattern spells out. */
  readonly positions: number
  /** Does what RE2 cannot, or not quickly while the thread for slow work is not free; undefined if nothing can. */
  readonly createFallback: () => EngineMatcher | undefined
}

/** Runs a pattern on RE2, which compiles it on first use. */
export function createRe2Matcher({
  re2Source: written,
  buildNonEmptySource: writeNonEmpty,
  positions,
  createFallback: otherwise,
}: Re2MatcherOptions): Re2Matcher {
  const testing = lazy(() => compileRe2(written, 'u'))
  const replacing = lazy(() => compileRe2(writeNonEmpty(), 'gu'))
  const isQuick = (text: string, milliseconds: number) =>
    positions * text.length * MAX_MS_PER_STEP <= milliseconds
  return {
    isQuick: (text, replacement) =>
      isQuick(text, MAX_MAIN_THREAD_MS) && (replacement === undefined || hasBoundedResult(text, replacement)),
    async testAsync(text) {
      const result = await runOnThread({ type: 'test', source: written.source, text })
      return typeof result === 'boolean' ? result : undefined
    },
    async replaceAsync(text, replacement) {
      const found = replacing()
      const template = found && toTemplate(replacement, found.written)
      if (found === undefined || template === undefined) return undefined
      const result = await runOnThread({ type: 'replace', source: found.written.source, text, template })
      return typeof result === 'string' ? result : undefined
    },
    test(text, milliseconds) {
      const backtrack = () => otherwise()?.test(text, milliseconds)
      if (isQuick(text, milliseconds)) return testing()?.regex.test(text) ?? backtrack()
      return runInRe2Worker({ source: written.source, text, template: undefined }, milliseconds, backtrack)
    },
    replace(text, replacement, milliseconds) {
      const backtrack = () => otherwise()?.replace(text, replacement, milliseconds)
      const found = replacing()
      const template = found && toTemplate(replacement, found.written)
      if (found === undefined || template === undefined) return backtrack()
      if (isQuick(text, milliseconds) && hasBoundedResult(text, replacement))
        return text.replace(found.regex, template)
      return runInRe2Worker({ source: found.written.source, text, template }, milliseconds, backtrack)
    },
  }
}

/** Undefined for what RE2 refuses after all. */
function compileRe2(written: Re2Source | undefined, flags: string) {
  try {
    return written && { regex: new RE2(written.source, flags), written }
  } catch {
    return undefined
  }
}

/** What a run may take on the main thread without being counted. */
const MAX_MAIN_THREAD_MS = 2

/**
 * RE2 cannot be stopped. It is linear in the text, but where its automaton outgrows its memory every position of the
 * pattern can cost this much for every character: `a[ab]{900}c` takes 300 ms on 100 KB.
 */
const MAX_MS_PER_STEP = 8e-6

/** Characters that a mask of every single character could make of a text within some milliseconds. */
const MAX_REPLACED_LENGTH = 4_000_000

function hasBoundedResult(text: string, replacement: Replacement): boolean {
  const length = replacement.reduce<number>(
    (sum, piece) => sum + (typeof piece === 'string' ? piece.length : 1),
    0,
  )
  return text.length * length <= MAX_REPLACED_LENGTH
}

/**
 * The replacement as JavaScript writes it, with the final newline put back where one was taken; undefined for what it
 * cannot write: a group beyond 99, or the whole match where that may hold the newline.
 */
function toTemplate(
  replacement: Replacement,
  { groups: slots, newlineGroups: newlines }: Re2Source,
): string | undefined {
  const used = replacement.flatMap((piece) => (typeof piece === 'number' ? (slots.get(piece) ?? []) : []))
  if ([...used, ...newlines].some((group) => group > 99) || (replacement.includes(0) && newlines.length > 0))
    return undefined
  return [...replacement, newlines]
    .map((piece) => {
      if (piece === 0) return '$&'
      if (typeof piece === 'string') return piece.replaceAll('$', '$$$$')
      return toGroupReferences(typeof piece === 'number' ? (slots.get(piece) ?? []) : piece)
    })
    .join('')
}

function toGroupReferences(groups: readonly number[]): string {
  return groups.map((group) => `$${String(group).padStart(2, '0')}`).join('')
}
