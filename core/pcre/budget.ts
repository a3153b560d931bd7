/**
 * The time that all patterns of one request may take together. Times are milliseconds of CPU or wall-clock
 * time, whichever is less.
 */
export interface PatternBudget {
  remainingMs(): number
  /**
   * The time limit for one run of a pattern: half of what remains, so that a runaway pattern leaves time for
   * the rules after it.
   */
  shareMs(): number
  spend(milliseconds: number): void
  /** Records that a run of a pattern was stopped or not started, and so counted as no match. */
  recordOverrun(pattern: string): void
  /** The recorded overruns, one entry per run. */
  readonly overruns: readonly string[]
}

/** Creates the budget of one request. */
export function createPatternBudget(milliseconds = 10): PatternBudget {
  const overruns: string[] = []
  let remaining = milliseconds
  return {
    remainingMs: () => remaining,
    shareMs: () => remaining / 2,
    spend(spent) {
      remaining = Math.max(0, remaining - spent)
    },
    recordOverrun(pattern) {
      overruns.push(pattern)
    },
    overruns,
  }
}
