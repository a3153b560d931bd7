/** A question that the soak answers at its end. */
export interface Check {
  readonly name: string
  /** What was found, in a few words. */
  readonly found: string
  /** Empty when all is well. */
  readonly faults: readonly string[]
}

/** The first faults, and how many there are. */
export function fewOf(faults: readonly string[], most = 20): readonly string[] {
  return faults.length <= most ? faults : [...faults.slice(0, most), `… and ${faults.length - most} more`]
}
