/** The outcomes of everything that the soak did. */
export interface Tally {
  /** Counts an expected outcome, by kind and effect. */
  note(kind: string, effect: string): void
  /** Records an unexpected outcome. */
  fail(kind: string, why: string): void
  /** Marks a request that may log an error, because it requested a fault. */
  explain(requestId: string): void
  isExplained(requestId: string): boolean
  /** Counts by kind, then effect. */
  readonly effects: ReadonlyMap<string, ReadonlyMap<string, number>>
  /** The first unexpected outcomes, in full. */
  readonly failures: readonly string[]
  failureCount(): number
  noted(): number
}

const MAX_FAILURES_SHOWN = 40

export function createTally(): Tally {
  const effects = new Map<string, Map<string, number>>()
  const failures: string[] = []
  const explained = new Set<string>()
  let failed = 0
  let noted = 0
  return {
    note(kind, effect) {
      noted++
      const ofKind = effects.get(kind) ?? new Map<string, number>()
      ofKind.set(effect, (ofKind.get(effect) ?? 0) + 1)
      effects.set(kind, ofKind)
    },
    fail(kind, why) {
      failed++
      if (failures.length < MAX_FAILURES_SHOWN) failures.push(`${kind}: ${why}`)
    },
    explain: (requestId) => explained.add(requestId),
    isExplained: (requestId) => explained.has(requestId),
    effects,
    failures,
    failureCount: () => failed,
    noted: () => noted,
  }
}
