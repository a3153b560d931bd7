/** The time that all patterns of one request may take together, in milliseconds. */
export interface PatternBudget {
  remainingMs(): number
  /**
   * What one run of a pattern may take: half of what remains, so that a pattern that runs away leaves something to the
   * rules behind it.
   */
  shareMs(): number
  spend(milliseconds: number): void
  /** Notes that a pattern was stopped, or not started, and counted as no match. */
  recordOverrun(pattern: string): void
  /** The patterns that were stopped, once for each time. */
  readonly overruns: readonly string[]
}

/** A fresh budget; one per request. */
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
