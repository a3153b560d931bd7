import RE2 from 're2'
import { runInRegexWorker } from '../text/regex-worker-client.ts'
import { lazy } from '../util/lazy.ts'
import { type Budget, processorTime } from './limits.ts'
import { runApart } from './run-in-worker.ts'
import type { Re2Source } from './to-re2.ts'

/** How a pattern runs on RE2. */
interface LinearParts {
  readonly written: Re2Source
  /** The pattern without its empty matches, for replacing; undefined when RE2 cannot do that. */
  readonly writeNonEmpty: () => Re2Source | undefined
  /** How many characters the pattern spells out. */
  readonly positions: number
  /** Does what RE2 cannot, or not quickly while the thread for slow work is not free; undefined if nothing can. */
  readonly otherwise: () => Matcher | undefined
}

/** Runs a pattern on RE2, which compiles it on first use. */
export function createLinear({ written, writeNonEmpty, positions, otherwise }: LinearParts): LinearMatcher {
  const testing = lazy(() => compileRe2(written, 'u'))
  const replacing = lazy(() => compileRe2(writeNonEmpty(), 'gu'))
  const isQuick = (text: string, milliseconds: number) =>
    positions * text.length * MILLISECONDS_PER_STEP <= milliseconds
  return {
    isQuick: (text, replacement) =>
      isQuick(text, QUICK_MS) && (replacement === undefined || growsLittle(text, replacement)),
    async testApart(text) {
      const result = await runInRegexWorker({ type: 'test', source: written.source, text })
      return typeof result === 'boolean' ? result : undefined
    },
    async replaceApart(text, replacement) {
      const found = replacing()
      const template = found && writeTemplate(replacement, found.written)
      if (found === undefined || template === undefined) return undefined
      const result = await runInRegexWorker({ type: 'replace', source: found.written.source, text, template })
      return typeof result === 'string' ? result : undefined
    },
    test(text, milliseconds) {
      const backtrack = () => otherwise()?.test(text, milliseconds)
      if (isQuick(text, milliseconds)) return testing()?.regex.test(text) ?? backtrack()
      return runApart({ source: written.source, text, template: undefined }, milliseconds, backtrack)
    },
    replace(text, replacement, milliseconds) {
      const backtrack = () => otherwise()?.replace(text, replacement, milliseconds)
      const found = replacing()
      const template = found && writeTemplate(replacement, found.written)
      if (found === undefined || template === undefined) return backtrack()
      if (isQuick(text, milliseconds) && growsLittle(text, replacement))
        return text.replace(found.regex, template)
      return runApart({ source: found.written.source, text, template }, milliseconds, backtrack)
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
const QUICK_MS = 2

/**
 * RE2 cannot be stopped. It is linear in the text, but where its automaton outgrows its memory every position of the
 * pattern can cost this much for every character: `a[ab]{900}c` takes 300 ms on 100 KB.
 */
const MILLISECONDS_PER_STEP = 8e-6

/** Characters that a mask of every single character could make of a text within some milliseconds. */
const MOST_GROWTH = 4_000_000

function growsLittle(text: string, replacement: Replacement): boolean {
  const length = replacement.reduce<number>(
    (sum, piece) => sum + (typeof piece === 'string' ? piece.length : 1),
    0,
  )
  return text.length * length <= MOST_GROWTH
}

/**
 * The replacement as JavaScript writes it, with the final newline put back where one was taken; undefined for what it
 * cannot write: a group beyond 99, or the whole match where that may hold the newline.
 */
function writeTemplate(replacement: Replacement, { slots, newlines }: Re2Source): string | undefined {
  const used = replacement.flatMap((piece) => (typeof piece === 'number' ? (slots.get(piece) ?? []) : []))
  if ([...used, ...newlines].some((group) => group > 99) || (replacement.includes(0) && newlines.length > 0))
    return undefined
  return [...replacement, newlines]
    .map((piece) => {
      if (piece === 0) return '$&'
      if (typeof piece === 'string') return piece.replaceAll('$', '$$$$')
      return writeGroups(typeof piece === 'number' ? (slots.get(piece) ?? []) : piece)
    })
    .join('')
}

function writeGroups(groups: readonly number[]): string {
  return groups.map((group) => `$${String(group).padStart(2, '0')}`).join('')
}

/** A compiled pattern on one engine. Both answer undefined when they would need, or have taken, more than the given time. */
export interface Matcher {
  test(text: string, milliseconds: number): boolean | undefined
  /** Replaces every match that is not empty. */
  replace(text: string, replacement: Replacement, milliseconds: number): string | undefined
}

/** A matcher that needs no deadline: what would take long can be done on another thread. */
export interface LinearMatcher extends Matcher {
  /** Whether the text can be run through, or with a replacement rewritten, here and now. */
  isQuick(text: string, replacement?: Replacement): boolean
  /** Undefined when RE2 refuses. */
  testApart(text: string): Promise<boolean | undefined>
  replaceApart(text: string, replacement: Replacement): Promise<string | undefined>
}

/** How a pattern is run. Over the budget it matches nothing, and the budget notes it. */
export interface Runs {
  test(text: string, budget: Budget): boolean
  /** The text with every match replaced; empty matches are left alone. */
  replace(text: string, replacement: Replacement, budget: Budget): string
  /**
   * Whether the text can be run through, or with a replacement rewritten, here and now; if not, the runs apart are for it:
   * they hold up nobody.
   */
  isQuick(text: string, replacement?: Replacement): boolean
  testApart(text: string, budget: Budget): Promise<boolean>
  replaceApart(text: string, replacement: Replacement, budget: Budget): Promise<string>
}

/** RE2 needs no budget: what is not quick can go to another thread, where nobody has to wait for it. */
export function runLinear(name: string, matcher: LinearMatcher): Runs {
  const budgeted = runBudgeted(name, matcher)
  return {
    isQuick: matcher.isQuick,
    test(text, budget) {
      const isFound = matcher.isQuick(text) ? matcher.test(text, Number.POSITIVE_INFINITY) : undefined
      return isFound ?? budgeted.test(text, budget)
    },
    replace(text, replacement, budget) {
      const replaced = matcher.isQuick(text, replacement)
        ? matcher.replace(text, replacement, Number.POSITIVE_INFINITY)
        : undefined
      return replaced ?? budgeted.replace(text, replacement, budget)
    },
    testApart: async (text, budget) => (await matcher.testApart(text)) ?? budgeted.test(text, budget),
    replaceApart: async (text, replacement, budget) =>
      (await matcher.replaceApart(text, replacement)) ?? budgeted.replace(text, replacement, budget),
  }
}

export function runBudgeted(name: string, matcher: Matcher): Runs {
  const test: Runs['test'] = (text, budget) =>
    spend(budget, name, (time) => matcher.test(text, time)) ?? false
  const replace: Runs['replace'] = (text, replacement, budget) =>
    spend(budget, name, (time) => matcher.replace(text, replacement, time)) ?? text
  return {
    test,
    replace,
    isQuick: () => true,
    testApart: async (...given) => test(...given),
    replaceApart: async (...given) => replace(...given),
  }
}

/** Asks RE2 first, where it knows a pattern that matches more: most texts never get as far as backtracking. */
export function guard(matcher: Matcher, linear: Matcher | undefined): Matcher {
  if (linear === undefined) return matcher
  return {
    test(text, milliseconds) {
      const end = performance.now() + milliseconds
      if (linear.test(text, milliseconds / 2) === false) return false
      return matcher.test(text, end - performance.now())
    },
    replace(text, replacement, milliseconds) {
      const end = performance.now() + milliseconds
      if (linear.test(text, milliseconds / 2) === false) return text
      return matcher.replace(text, replacement, end - performance.now())
    },
  }
}

function spend<Result>(
  budget: Budget,
  name: string,
  run: (milliseconds: number) => Result | undefined,
): Result | undefined {
  if (budget.remaining() <= 0) {
    budget.overrun(name)
    return undefined
  }
  const start = performance.now()
  const before = processorTime()
  const result = run(budget.share())
  // The lesser of both: the clock runs on while others have the processor, and its time counts what other threads did.
  budget.spend(Math.min(performance.now() - start, processorTime() - before))
  if (result === undefined) budget.overrun(name)
  return result
}

/** A replacement that has been read: texts, and numbers of groups, 0 being the whole match. */
export type Replacement = readonly (string | number)[]

const SPECIAL = /\\([\\$])|\\(\d{1,2})|\$(\d{1,2})|\$\{(\d{1,2})\}/g

/** The text as it is, whatever it holds. */
export function literalReplacement(text: string): Replacement {
  return [text]
}

/** Reads a replacement as `preg_replace` does: `$1`, `${1}` and `\1` are groups, `\\` and `\$` lose a backslash. */
export function readReplacement(text: string): Replacement {
  const pieces: (string | number)[] = []
  let from = 0
  for (const found of text.matchAll(SPECIAL)) {
    const [whole, literal, ...groups] = found
    pieces.push(text.slice(from, found.index), literal ?? Number(groups.find((group) => group !== undefined)))
    from = found.index + whole.length
  }
  return [...pieces, text.slice(from)]
}
