import { lazy } from '../util/lazy.ts'
import { type CodePointRange, characterSet, type Node } from './ast.ts'
import { mergeRanges, singleCodePoint } from './ranges.ts'

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
  const cased = caseVariants()
  if (to - from > cased.size) return [...cased.keys()].filter((code) => from <= code && code <= to)
  return Array.from({ length: to - from + 1 }, (_, offset) => from + offset).filter((code) => cased.has(code))
}

/** Whether two code points are equal when case is ignored. */
export function equalsIgnoringCase(a: number, b: number): boolean {
  return a === b || caseVariantsOf(a).includes(b)
}

/** All code points that are equal to `code` when case is ignored, including `code`. */
function caseVariantsOf(code: number): readonly number[] {
  return caseVariants().get(code) ?? [code]
}

/**
 * The case variants of every cased letter. JavaScript has no API for them, so they are computed when the
 * first pattern is compiled: about 2,900 letters in 5 ms.
 */
const caseVariants = lazy(computeCaseVariants)

const LAST_CASED_CODE_POINT = 0x1e943
const CASED = /[\p{Changes_When_Casemapped}\p{Changes_When_Casefolded}]/gu
/** Code points that are searched together, which is faster than a call for each. */
const BLOCK_SIZE = 0x800
const SAME_LETTER = /^(.)\1$/iu

function computeCaseVariants(): Map<number, number[]> {
  const variants = new Map<number, number[]>()
  for (const letter of casedLetters()) {
    const code = letter.codePointAt(0) ?? 0
    const upper = letter.toUpperCase()
    const lower = letter.toLowerCase()
    for (const other of new Set([lower, upper, upper.toLowerCase(), lower.toUpperCase()])) {
      if (other !== letter && SAME_LETTER.test(letter + other))
        mergeVariants(variants, code, other.codePointAt(0) ?? code)
    }
  }
  return variants
}

function* casedLetters(): Iterable<string> {
  for (let first = 0; first <= LAST_CASED_CODE_POINT; first += BLOCK_SIZE) {
    const block = String.fromCodePoint(...Array.from({ length: BLOCK_SIZE }, (_, index) => first + index))
    for (const [letter] of block.matchAll(CASED)) yield letter
  }
}

function mergeVariants(variants: Map<number, number[]>, a: number, b: number): void {
  const merged = [...new Set([...(variants.get(a) ?? [a]), ...(variants.get(b) ?? [b])])]
  for (const code of merged) variants.set(code, merged)
}
