import { lazy } from '../util/lazy.ts'
import type { CodePointRange, Node } from './ast.ts'
import { characterSet } from './ast.ts'
import { mergeRanges, singleCodePoint } from './ranges.ts'

/** Every code point that equals `code` when case is ignored (Unicode simple case folding), itself included. */
function caseVariantsOf(code: number): readonly number[] {
  return allCaseVariants().get(code) ?? [code]
}

/** A character in any case. */
export function caselessCharacter(code: number): Node {
  const forms = caseVariantsOf(code)
  return forms.length === 1 ? { type: 'character', code } : characterSet(forms.map(singleCodePoint))
}

/** The ranges together with every other case form of what is in them. */
export function addCaseVariants(ranges: readonly CodePointRange[]): readonly CodePointRange[] {
  const others = mergeRanges(ranges).flatMap(casedCodePointsIn).flatMap(caseVariantsOf).map(singleCodePoint)
  return others.length === 0 ? ranges : mergeRanges([...ranges, ...others])
}

function casedCodePointsIn({ from, to }: CodePointRange): readonly number[] {
  const forms = allCaseVariants()
  if (to - from > forms.size) return [...forms.keys()].filter((code) => from <= code && code <= to)
  return Array.from({ length: to - from + 1 }, (_, offset) => from + offset).filter((code) => forms.has(code))
}

/** No API tells the forms of a letter, so they are found once, with the first pattern: some 2,900 letters in 10 ms. */
const allCaseVariants = lazy(computeCaseVariants)

function computeCaseVariants(): Map<number, number[]> {
  const found = new Map<number, number[]>()
  for (let code = 0x41; code <= LAST_CASED; code++) {
    const letter = String.fromCodePoint(code)
    if (!CASED.test(letter)) continue
    const upper = letter.toUpperCase()
    const lower = letter.toLowerCase()
    for (const other of [lower, upper, upper.toLowerCase(), lower.toUpperCase()]) {
      if (other !== letter && SAME_LETTER.test(letter + other))
        mergeVariants(found, code, other.codePointAt(0) ?? code)
    }
  }
  return found
}

const LAST_CASED = 0x1e943

const CASED = /^[\p{Changes_When_Casemapped}\p{Changes_When_Casefolded}]$/u

const SAME_LETTER = /^(.)\1$/iu

function mergeVariants(found: Map<number, number[]>, one: number, other: number): void {
  const joined = [...new Set([...(found.get(one) ?? [one]), ...(found.get(other) ?? [other])])]
  for (const code of joined) found.set(code, joined)
}
