import { type CodePointRange, characterSet, type Node } from './ast.ts'
import { mergeRanges, singleCodePoint } from './character-sets.ts'

/** A character, or the set of its case variants (Unicode simple case folding) if it has any. */
export function caselessCharacter(code: number): Node {
  const cached = caselessAscii[code]
  if (cached !== undefined) return cached
  const variants = caseVariantsOf(code)
  const node: Node =
    variants.length === 1 ? { type: 'character', code } : characterSet(variants.map(singleCodePoint))
  if (code < 0x80) caselessAscii[code] = node
  return node
}

/** The nodes of ASCII characters, which are most of the characters in patterns. */
const caselessAscii: Node[] = []

/** Adds to the ranges all case variants of their code points. */
export function addCaseVariants(ranges: readonly CodePointRange[]): readonly CodePointRange[] {
  const variants = mergeRanges(ranges).flatMap(casedCodePointsIn).flatMap(caseVariantsOf).map(singleCodePoint)
  return variants.length === 0 ? ranges : mergeRanges([...ranges, ...variants])
}

function casedCodePointsIn({ from, to }: CodePointRange): readonly number[] {
  if (to <= LAST_ASCII) return codePointsOf(from, to).filter(isAsciiLetter)
  const cased = caseVariants()
  if (to - from > cased.size) return [...cased.keys()].filter((code) => from <= code && code <= to)
  return codePointsOf(from, to).filter((code) => cased.has(code))
}

function codePointsOf(from: number, to: number): readonly number[] {
  return Array.from({ length: to - from + 1 }, (_, offset) => from + offset)
}

/** Whether two code points are equal when case is ignored. */
export function equalsIgnoringCase(a: number, b: number): boolean {
  return a === b || caseVariantsOf(a).includes(b)
}

/** All code points that are equal to `code` when case is ignored, including `code`. */
function caseVariantsOf(code: number): readonly number[] {
  return code <= LAST_ASCII ? asciiVariants(code) : (caseVariants().get(code) ?? [code])
}

const LAST_ASCII = 0x7f

/** The letters outside of ASCII that are equal to one inside: the sign for kelvin and the long s. */
const FOREIGN_VARIANTS: ReadonlyMap<number, number> = new Map([
  [0x6b, 0x212a],
  [0x73, 0x17f],
])

/** Most patterns hold no others, so they do not need the table of all letters. */
function asciiVariants(code: number): readonly number[] {
  if (!isAsciiLetter(code)) return [code]
  const lower = code | 0x20
  const foreign = FOREIGN_VARIANTS.get(lower)
  return foreign === undefined ? [lower - 0x20, lower] : [lower - 0x20, lower, foreign]
}

function isAsciiLetter(code: number): boolean {
  const lower = code | 0x20
  return lower >= 0x61 && lower <= 0x7a
}

/**
 * The case variants of every cased letter, about 2,900. JavaScript has no API for them, so they are computed
 * when they are first needed, which takes several milliseconds.
 */
function caseVariants(): CaseVariants {
  while (!computation.next().done);
  return VARIANTS
}

/** Work in time slices: `yieldNow` lets other work run, and starts a new slice. */
interface TimeSlice {
  isDue(): boolean
  yieldNow(): Promise<void>
}

/** Computes the case variants in time slices, before the first pattern with letters outside of ASCII. */
export async function prepareCaseVariants(slice: TimeSlice): Promise<void> {
  while (!computation.next().done) if (slice.isDue()) await slice.yieldNow()
}

type CaseVariants = Map<number, number[]>

const VARIANTS: CaseVariants = new Map()
const computation = computeCaseVariants(VARIANTS)

/** Code points that are searched together, which is faster than a call for each. */
const BLOCK_SIZE = 0x80
/** From the first to the last code point of blocks with cased letters. Other blocks have none. */
const CASED_BLOCKS = [
  ...[
    [0x0, 0x5ff],
    [0x1080, 0x13ff],
    [0x1c00, 0x21ff],
    [0x2480, 0x24ff],
    [0x2c00, 0x2dff],
  ],
  ...[
    [0xa600, 0xabff],
    [0xfb00, 0xfb7f],
    [0xff00, 0xff7f],
    [0x10400, 0x105ff],
    [0x10c00, 0x10dff],
  ],
  ...[
    [0x11880, 0x118ff],
    [0x16e00, 0x16eff],
    [0x1e900, 0x1e97f],
  ],
] as const
const CASED = /[\p{Changes_When_Casemapped}\p{Changes_When_Casefolded}]/gu
const SAME_LETTER = /^(.)\1$/iu

/** Computes one block in each step. */
function* computeCaseVariants(variants: CaseVariants): Generator<undefined, void> {
  for (const [from, to] of CASED_BLOCKS) {
    for (let first = from; first <= to; first += BLOCK_SIZE) {
      const block = String.fromCodePoint(...codePointsOf(first, first + BLOCK_SIZE - 1))
      for (const [letter] of block.matchAll(CASED)) addVariants(variants, letter)
      yield
    }
  }
}

function addVariants(variants: CaseVariants, letter: string): void {
  const code = letter.codePointAt(0) ?? 0
  const upper = letter.toUpperCase()
  const lower = letter.toLowerCase()
  for (const other of [lower, upper, upper.toLowerCase(), lower.toUpperCase()]) {
    const otherCode = other.codePointAt(0) ?? code
    if (otherCode === code || variants.get(code)?.includes(otherCode)) continue
    if (SAME_LETTER.test(letter + other)) mergeVariants(variants, code, otherCode)
  }
}

function mergeVariants(variants: CaseVariants, a: number, b: number): void {
  const merged = [...new Set([...(variants.get(a) ?? [a]), ...(variants.get(b) ?? [b])])]
  for (const code of merged) variants.set(code, merged)
}
