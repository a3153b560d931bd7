import type { PatternBudget } from './budget.ts'
import type { EngineMatcher, Re2Matcher } from './matcher.ts'
import type { Replacement } from './replacement.ts'
import { processCpuMs } from './run-with-timeout.ts'

/** Runs a pattern within a budget. A run that exceeds it counts as no match and is recorded as an overrun. */
export interface PatternRunner {
  test(text: string, budget: PatternBudget): boolean
  /** Replaces every non-empty match. */
  replace(text: string, replacement: Replacement, budget: PatternBudget): string
  /**
   * Whether a test, or with a replacement a replace, is cheap enough for the event loop. Otherwise use the
   * async methods, which run it on a worker thread.
   */
  isQuick(text: string, replacement?: Replacement): boolean
  testAsync(text: string, budget: PatternBudget): Promise<boolean>
  replaceAsync(text: string, replacement: Replacement, budget: PatternBudget): Promise<string>
}

/** Runs a pattern on RE2. Only a synchronous run that is not quick spends the budget. */
export function createRe2Runner(pattern: string, matcher: Re2Matcher): PatternRunner {
  const budgeted = createBudgetedRunner(pattern, matcher)
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

/**
 * Runs a pattern on the event loop and spends the budget. The async methods do the same. See
 * docs/decisions/firewall.md, "Only backtracking patterns have a time budget".
 */
export function createBudgetedRunner(pattern: string, matcher: EngineMatcher): PatternRunner {
  const test: PatternRunner['test'] = (text, budget) =>
    runWithinBudget(budget, pattern, (timeoutMs) => matcher.test(text, timeoutMs)) ?? false
  const replace: PatternRunner['replace'] = (text, replacement, budget) =>
    runWithinBudget(budget, pattern, (timeoutMs) => matcher.replace(text, replacement, timeoutMs)) ?? text
  return {
    test,
    replace,
    isQuick: () => true,
    testAsync: async (...args) => test(...args),
    replaceAsync: async (...args) => replace(...args),
  }
}

/**
 * Tests an over-approximation of the pattern on RE2 first: most texts never reach the backtracking engine.
 */
export function withRe2Prefilter(
  matcher: EngineMatcher,
  prefilter: EngineMatcher | undefined,
): EngineMatcher {
  if (prefilter === undefined) return matcher
  return {
    test(text, timeoutMs) {
      const deadline = performance.now() + timeoutMs
      if (prefilter.test(text, timeoutMs / 2) === false) return false
      return matcher.test(text, deadline - performance.now())
    },
    replace(text, replacement, timeoutMs) {
      const deadline = performance.now() + timeoutMs
      if (prefilter.test(text, timeoutMs / 2) === false) return text
      return matcher.replace(text, replacement, deadline - performance.now())
    },
  }
}

function runWithinBudget<Result>(
  budget: PatternBudget,
  pattern: string,
  run: (timeoutMs: number) => Result | undefined,
): Result | undefined {
  if (budget.remainingMs() <= 0) {
    budget.recordOverrun(pattern)
    return undefined
  }
  const startedAt = performance.now()
  const cpuBefore = processCpuMs()
  const result = run(budget.shareMs())
  // Wall-clock time includes waiting for a busy processor, and CPU time includes other threads of this
  // process.
  budget.spend(Math.min(performance.now() - startedAt, processCpuMs() - cpuBefore))
  if (result === undefined) budget.recordOverrun(pattern)
  return result
}
