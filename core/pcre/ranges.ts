import type { CodePointRange } from './ast.ts'

const LAST_CODE_POINT = 0x10ffff

export function singleCodePoint(code: number): CodePointRange {
  return { from: code, to: code }
}

/** Builds a range from each pair of characters, such as `'az'`; a single character is a range of its own. */
export function rangesOf(...pairs: readonly string[]): readonly CodePointRange[] {
  return pairs.map((pair) => {
    const [from = 0, to = from] = [...pair].map((character) => character.codePointAt(0) ?? 0)
    return { from, to }
  })
}

/** Sorts the ranges and merges those that overlap or touch. */
export function mergeRanges(ranges: readonly CodePointRange[]): readonly CodePointRange[] {
  const merged: CodePointRange[] = []
  for (const range of ranges.toSorted((a, b) => a.from - b.from)) {
    const last = merged.at(-1)
    if (last === undefined || range.from > last.to + 1) merged.push(range)
    else merged[merged.length - 1] = { from: last.from, to: Math.max(last.to, range.to) }
  }
  return merged
}

/** Returns all code points outside the ranges. */
export function complementRanges(ranges: readonly CodePointRange[]): readonly CodePointRange[] {
  const outside: CodePointRange[] = []
  let from = 0
  for (const range of mergeRanges(ranges)) {
    if (range.from > from) outside.push({ from, to: range.from - 1 })
    from = range.to + 1
  }
  if (from <= LAST_CODE_POINT) outside.push({ from, to: LAST_CODE_POINT })
  return outside
}
