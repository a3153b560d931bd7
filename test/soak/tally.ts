/** What became of everything that the soak did. */
export interface Tally {
  /** Counts something that went as it should, under what it was and what came of it. */
  note(kind: string, effect: string): void
  /** Something that should not have happened. */
  fail(kind: string, why: string): void
  /** An error that the gateway may log about this request, for it was asked for. */
  explain(requestId: string): void
  isExplained(requestId: string): boolean
  /** By kind, then effect. */
  readonly effects: ReadonlyMap<string, ReadonlyMap<string, number>>
  /** The first ones, in full. */
  readonly failures: readonly string[]
  failureCount(): number
  noted(): number
}

const MOST_FAILURES_SHOWN = 40

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
      if (failures.length < MOST_FAILURES_SHOWN) failures.push(`${kind}: ${why}`)
    },
    explain: (requestId) => explained.add(requestId),
    isExplained: (requestId) => explained.has(requestId),
    effects,
    failures,
    failureCount: () => failed,
    noted: () => noted,
  }
}
