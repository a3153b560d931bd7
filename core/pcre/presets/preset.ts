type Validate = (match: string, before: string) => number

/** A curated pattern that a firewall rule refers to by name. */
export interface Preset {
  /** The value of `pattern` in a rule with the type `preset`. */
  readonly name: string
  /** What it finds, as a phrase. */
  readonly description: string
  /** A PCRE pattern, which the gateway's translation to RE2 can over-approximate. */
  readonly pattern: string
  /**
   * Returns how many characters of a match are a valid value; 0 if none are. `before` is the text in front of
   * it. Undefined: every match is valid.
   */
  readonly validate?: Validate
  /** The kind of checksum or check that `validate` makes. */
  readonly checked?: string
  readonly examples: {
    readonly valid: readonly [string, ...string[]]
    /** Look similar, and do not match. */
    readonly invalid: readonly [string, ...string[]]
  }
}

/**
 * Builds a `validate` that accepts a whole match, by its letters and digits. `gapCount`: how many gaps there
 * are between its groups; see `isWellSpaced`.
 */
export function validateWhole(isValid: (compact: string) => boolean, gapCount?: number): Validate {
  return (match, before) =>
    isWellSpaced(match, before, gapCount) && isValid(toCompact(match)) ? match.length : 0
}

/**
 * Builds a `validate` that accepts the longest beginning of a match with one of the lengths, by its letters
 * and digits. It must not end in front of a letter or digit.
 */
export function validateBeginning(
  lengthsOf: (compact: string) => readonly number[],
  isValid: (compact: string) => boolean,
  isSpelledWell: (match: string, before: string) => boolean,
): Validate {
  return (match, before) => {
    const compact = toCompact(match)
    for (const length of [...lengthsOf(compact)].sort((a, b) => b - a)) {
      const end = endOfCharacters(match, length)
      const isCutInside = /[0-9A-Za-z]/.test(match.charAt(end))
      if (length > compact.length || isCutInside || !isValid(compact.slice(0, length))) continue
      if (isSpelledWell(match.slice(0, end), before)) return end
    }
    return 0
  }
}

function toCompact(match: string): string {
  return match.replace(/[^0-9A-Za-z]/g, '').toUpperCase()
}

/** Whether nothing but single spaces, hyphens and dots is between the characters. */
function hasPlainGaps(match: string): boolean {
  return !/[^0-9A-Za-z]{2}|[\t-\r]/.test(match)
}

/** White space that stands between the cells of a table, and between lines. */
const CELL_GAP = /\s*[\t-\r]\s*|\s{2,}/
const BEHIND_CELL = new RegExp(`\\d(?:${CELL_GAP.source})$`)

/**
 * Whether the groups of a number belong together: gaps of several characters are of one kind, and the number
 * is not in a table.
 */
export function isWellSpaced(match: string, before: string, gapCount?: number): boolean {
  if (hasPlainGaps(match)) return true
  const gaps = gapsOf(match)
  if (gapCount !== undefined && gaps.length !== gapCount) return false
  return hasEqualGaps(match) && gaps.every(({ length }) => length <= 4) && !isTableCell(match, before)
}

/** Whether the gaps are equal but for white space. */
export function hasEqualGaps(match: string): boolean {
  return new Set(gapsOf(match).map((gap) => gap.trim())).size < 2
}

/** Whether the groups of a number are one more line or column behind other numbers. */
export function isTableCell(match: string, before: string): boolean {
  return gapsOf(match).some((gap) => CELL_GAP.test(gap)) && BEHIND_CELL.test(before)
}

function gapsOf(match: string): readonly string[] {
  return match.match(/[^0-9A-Za-z]+/g) ?? []
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
