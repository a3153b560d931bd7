import { lazy } from './lazy.ts'

/**
 * A text as presets read it. See docs/decisions/firewall.md, "Presets read spellings, patterns read
 * characters".
 */
export interface FoldedText {
  readonly text: string
  /** The index in the folded text of the first character that is at `index` of the original, or later. */
  foldedIndex(index: number): number
  /** The index in the original at which a match that begins at `index` of the folded text begins. */
  originalStart(index: number): number
  /** The index in the original at which a match that ends at `index` of the folded text ends. */
  originalEnd(index: number): number
}

/** Characters outside of ASCII that stand for one in ASCII, or that nobody sees. */
const FOLDABLE = new RegExp(
  '[[' +
    // Digits of every script, spaces, hyphens and dashes, what is invisible.
    '\\p{Nd}\\p{Zs}\\p{Pd}\\p{Cf}\\p{Default_Ignorable_Code_Point}' +
    // Line separators, minus signs, dots between digits.
    '\\x85\\u2028\\u2029\\u2043\\u2212\\xb7\\u2022\\u2027\\u2219\\u22c5\\u30fb\\uff65' +
    // Full-width, small and mathematical forms.
    '\\uff01-\\uff5e\\ufe50-\\ufe6b\\u{1d400}-\\u{1d7ff}' +
    ']--[ \\-0-9]]',
  'v',
)

/** Code units that may begin such a character: looking them up takes a twentieth of the time of a search. */
const foldableUnits = lazy(() => {
  const units = new Uint8Array(0x10000)
  const basic = Array.from({ length: 0xd800 - 0x80 }, (_, index) => String.fromCharCode(0x80 + index))
  const forms = Array.from({ length: 0x10000 - 0xe000 }, (_, index) => String.fromCharCode(0xe000 + index))
  const each = new RegExp(FOLDABLE.source, 'gv')
  for (const [character] of [...basic, ...forms].join('').matchAll(each)) units[character.charCodeAt(0)] = 1
  // Most emoji and all ideographs are in the gaps.
  units.fill(1, 0xd800, 0xd83c)
  units[0xd83e] = 1
  units.fill(1, 0xdb40, 0xdc00)
  return units
})

/** The first index from `from` of a character that is folded; the length of the text if there is none. */
function findFoldable(text: string, from: number): number {
  const units = foldableUnits()
  for (let index = from; index < text.length; index++) {
    const unit = text.charCodeAt(index)
    if (units[unit] === 0) continue
    if (unit < 0xd800 || unit >= 0xdc00 || FOLDABLE.test(text.slice(index, index + 2))) return index
  }
  return text.length
}

const NOT_ASCII = /[^\0-\x7f]/

function isFoldable(text: string): boolean {
  return NOT_ASCII.test(text) && findFoldable(text, 0) < text.length
}

/** Kept, because a preset asks for the same text several times, and other presets do, too. */
let last: { readonly original: string; readonly folded: FoldedText } | undefined

/** Returns undefined if nothing in the text is folded. */
export function foldText(original: string): FoldedText | undefined {
  if (!isFoldable(original)) return undefined
  if (last?.original === original) return last.folded
  const folded = buildFoldedText(original)
  if (original.length <= MAX_FOLDED_LENGTH) last = { original, folded }
  return folded
}

/** Folding more takes milliseconds. */
const MAX_FOLDED_LENGTH = 100_000

/** Returns the texts, and those that are folded once more. Undefined if these are long. */
export function withFolded(texts: readonly string[]): readonly string[] | undefined {
  const foldable = texts.filter(isFoldable)
  if (foldable.length === 0) return texts
  if (foldable.reduce((sum, { length }) => sum + length, 0) > MAX_FOLDED_LENGTH) return undefined
  return [...texts, ...foldable.map((text) => foldText(text)?.text ?? text)]
}

function buildFoldedText(original: string): FoldedText {
  /** Where each character of the folded text is in the original; behind it, where it ends. */
  const starts = new Uint32Array(original.length + 1)
  const ends = new Uint32Array(original.length + 1)
  const parts: string[] = []
  let length = 0
  let position = 0
  const keepUpTo = (end: number) => {
    parts.push(original.slice(position, end))
    for (; position < end; position++) {
      starts[length] = position
      ends[++length] = position + 1
    }
  }
  for (;;) {
    keepUpTo(findFoldable(original, position))
    const character = String.fromCodePoint(original.codePointAt(position) ?? 0)
    if (position === original.length) break
    const folded = foldCharacter(character)
    parts.push(folded)
    starts[length] = position
    position += character.length
    if (folded !== '') ends[++length] = position
  }
  starts[length] = original.length
  return {
    text: parts.join(''),
    foldedIndex: (index) => lowerBound(starts.subarray(0, length), index),
    originalStart: (index) => starts[index] ?? original.length,
    originalEnd: (index) => ends[index] ?? original.length,
  }
}

/** There are some thousands of them. */
const foldedCharacters = new Map<string, string>()

/** At most one character, so that a folded text is never longer. */
function foldCharacter(character: string): string {
  const known = foldedCharacters.get(character)
  if (known !== undefined) return known
  const folded = readCharacter(character)
  foldedCharacters.set(character, folded)
  return folded
}

function readCharacter(character: string): string {
  const folded = character.normalize('NFKC')
  if (/^[\x20-\x7e]$/.test(folded)) return folded
  if (/\p{Nd}/u.test(character)) return digitOf(character)
  if (/[\p{Pd}\u2043\u2212]/u.test(character)) return '-'
  if (/\p{Zs}/u.test(character)) return ' '
  if (/[\x85\u2028\u2029]/.test(character)) return '\n'
  if (/[\p{Cf}\p{Default_Ignorable_Code_Point}]/u.test(character)) return ''
  if (/[\xb7\u2022\u2027\u2219\u22c5\u30fb\uff65]/.test(character)) return '.'
  return folded.charAt(0)
}

/** The digits of a script have consecutive code points, from zero on. */
function digitOf(character: string): string {
  const code = character.codePointAt(0) ?? 0
  let zero = code
  while (/\p{Nd}/u.test(String.fromCodePoint(zero - 1))) zero -= 1
  return String((code - zero) % 10)
}

/** The first index whose value is at least `value`; the length if there is none. */
function lowerBound(ascending: Uint32Array, value: number): number {
  let low = 0
  let high = ascending.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((ascending[middle] ?? 0) < value) low = middle + 1
    else high = middle
  }
  return low
}
