/** A check at the end of the soak. */
export interface Check {
  readonly name: string
  /** The result in a few words. */
  readonly found: string
  /** Empty if the check passed. */
  readonly faults: readonly string[]
}

/** Returns the first issues and their number. */
export function fewOf(faults: readonly string[], most = 20): readonly string[] {
  return faults.length <= most ? faults : [...faults.slice(0, most), `… and ${faults.length - most} more`]
}
