import type { PatternBudget } from './budget.ts'
import type { EngineMatcher, Re2Matcher } from './matcher.ts'
import type { Replacement } from './replacement.ts'
import { processCpuMs } from './run-with-timeout.ts'

/** How a pattern is run. Over the budget it matches nothing, and the budget notes it. */
export interface PatternRunner {
  test(text: string, budget: PatternBudget): boolean
  /** The text with every match replaced; empty matches are left alone. */
  replace(text: string, replacement: Replacement, budget: PatternBudget): string
  /**
   * Whether the text can be run through, or with a replacement rewritten, here and now; if not, the runs apart are for it:
   * they hold up nobody.
   */
  isQuick(text: string, replacement?: Replacement): boolean
  testAsync(text: string, budget: PatternBudget): Promise<boolean>
  replaceAsync(text: string, replacement: Replacement, budget: PatternBudget): Promise<string>
}

/** RE2 needs no budget: what is not quick can go to another thread, where nobody has to wait for it. */
export function createRe2Runner(name: string, matcher: Re2Matcher): PatternRunner {
  const budgeted = createBudgetedRunner(name, matcher)
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
    testAsync: async (text, budget) => (await matcher.testAsync(text)) ?? budgeted.test(text, budget),
    replaceAsync: async (text, replacement, budget) =>
      (await matcher.replaceAsync(text, replacement)) ?? budgeted.replace(text, replacement, budget),
  }
}

export function createBudgetedRunner(name: string, matcher: EngineMatcher): PatternRunner {
  const test: PatternRunner['test'] = (text, budget) =>
    runWithinBudget(budget, name, (time) => matcher.test(text, time)) ?? false
  const replace: PatternRunner['replace'] = (text, replacement, budget) =>
    runWithinBudget(budget, name, (time) => matcher.replace(text, replacement, time)) ?? text
  return {
    test,
    replace,
    isQuick: () => true,
    testAsync: async (...given) => test(...given),
    replaceAsync: async (...given) => replace(...given),
  }
}

/** Asks RE2 first, where it knows a pattern that matches more: most texts never get as far as backtracking. */
export function withRe2Prefilter(matcher: EngineMatcher, linear: EngineMatcher | undefined): EngineMatcher {
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

function runWithinBudget<Result>(
  budget: PatternBudget,
  name: string,
  run: (milliseconds: number) => Result | undefined,
): Result | undefined {
  if (budget.remainingMs() <= 0) {
    budget.recordOverrun(name)
    return undefined
  }
  const start = performance.now()
  const before = processCpuMs()
  const result = run(budget.shareMs())
  // The lesser of both: the clock runs on while others have the processor, and its time counts what other threads did.
  budget.spend(Math.min(performance.now() - start, processCpuMs() - before))
  if (result === undefined) budget.recordOverrun(name)
  return result
}
