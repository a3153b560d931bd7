import type { Budget } from './budget.ts'
import type { LinearMatcher, Matcher } from './matcher.ts'
import type { Replacement } from './replacement.ts'
import { processorTime } from './run-with-timeout.ts'

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
