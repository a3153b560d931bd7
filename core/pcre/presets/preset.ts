/** A curated pattern that a firewall rule refers to by name. */
export interface Preset {
  /** The value of `pattern` in a rule with the type `preset`. */
  readonly name: string
  /** What it finds, as a phrase. */
  readonly description: string
  /** A PCRE pattern, which the gateway's translation to RE2 can over-approximate. */
  readonly pattern: string
  /**
   * Returns how many characters of a match are a valid value; 0 if none are. Undefined: every match is valid.
   */
  readonly validate?: (match: string) => number
  /** The kind of checksum or check that `validate` makes. */
  readonly checked?: string
  readonly examples: {
    readonly valid: readonly [string, ...string[]]
    /** Look similar, and do not match. */
    readonly invalid: readonly [string, ...string[]]
  }
}

/** Builds a `validate` that accepts a whole match, by its letters and digits. */
export function validateWhole(isValid: (compact: string) => boolean): (match: string) => number {
  return (match) => (isValid(match.replace(/[^0-9A-Za-z]/g, '').toUpperCase()) ? match.length : 0)
}

/**
 * Builds a `validate` that accepts the longest beginning of a match with one of the lengths, by its letters
 * and digits. It must not end in front of a letter or digit.
 */
export function validateBeginning(
  lengthsOf: (compact: string) => readonly number[],
  isValid: (compact: string) => boolean,
): (match: string) => number {
  return (match) => {
    const compact = match.replace(/[^0-9A-Za-z]/g, '').toUpperCase()
    for (const length of [...lengthsOf(compact)].sort((a, b) => b - a)) {
      const end = endOfCharacters(match, length)
      const isCutInside = /[0-9A-Za-z]/.test(match.charAt(end))
      if (length <= compact.length && !isCutInside && isValid(compact.slice(0, length))) return end
    }
    return 0
  }
}

/** The index behind the first `count` letters and digits. */
function endOfCharacters(text: string, count: number): number {
  let seen = 0
  for (let index = 0; index < text.length; index++) {
    if (/[0-9A-Za-z]/.test(text.charAt(index))) seen += 1
    if (seen === count) return index + 1
  }
  return text.length
}
