/** What a UTF-16 code unit is to the features of a prompt. */
export const UnitKind = {
  letter: 1,
  capital: 2,
  digit: 3,
  space: 4,
  symbol: 5,
  /** A letter of a script without spaces between words: a word by itself. */
  ideograph: 6,
  /** Half of a character outside the BMP, such as an emoji. */
  surrogate: 7,
} as const

/** By unit: its kind and lower case. 0 until a unit is met, so that a start costs nothing. */
const table = new Uint32Array(65_536)

/** Returns the kind of a unit in the upper 16 bits, and below them its lower case, or `0` for a digit. */
export function describeUnit(unit: number): number {
  const known = table[unit] as number
  if (known !== 0) return known
  const described = classify(unit)
  table[unit] = described
  return described
}

const WITHOUT_SPACES =
  /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]/u

function classify(unit: number): number {
  const text = String.fromCharCode(unit)
  const lower = text.toLowerCase()
  const lowerUnit = lower.length === 1 ? lower.charCodeAt(0) : unit
  const kind = kindOf(unit, text)
  if (kind === UnitKind.digit) return (kind << 16) | 0x30
  return ((kind === UnitKind.letter && lowerUnit !== unit ? UnitKind.capital : kind) << 16) | lowerUnit
}

function kindOf(unit: number, text: string): number {
  if (unit >= 0xd800 && unit <= 0xdfff) return UnitKind.surrogate
  if (/\p{Nd}/u.test(text)) return UnitKind.digit
  if (WITHOUT_SPACES.test(text)) return UnitKind.ideograph
  if (/[\p{L}\p{M}\p{N}]/u.test(text)) return UnitKind.letter
  return /[\s\p{Cc}\p{Cf}]/u.test(text) ? UnitKind.space : UnitKind.symbol
}
