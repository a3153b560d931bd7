import { groupRegister, MATCH_START, type Program } from './compile-program.ts'
import { type EngineMatcher, maxMaskedLength, type Replacement } from './pattern.ts'
import { CandidateDensity, type CandidateFinder } from './re2-matcher.ts'
import { runProgram } from './run-program.ts'

interface ProgramMatch {
  readonly foundAt: number
  readonly registers: readonly number[]
  readonly end: number
}

/** Creates a matcher that runs a program from where a match may begin. */
export function createInterpretingMatcher(program: Program, candidates: CandidateFinder): EngineMatcher {
  /** Finds the first match from `from`; with `isRetry`, a match there that is not empty. */
  function find(
    text: string,
    from: number,
    isRetry: boolean,
    density: CandidateDensity,
  ): ProgramMatch | undefined {
    const options = { text, searchStart: from, skipsEmptyAtStart: isRetry }
    for (let start = from; start <= text.length; ) {
      const candidate = isRetry || density.isDense ? start : candidates.find(text, start)
      if (candidate === -1) return undefined
      if (!isRetry) density.record(candidate)
      const outcome = runProgram(program, candidate, options)
      if ('end' in outcome) return { ...outcome, foundAt: candidate }
      if (isRetry) return undefined
      const skipTo = outcome.skipTo ?? 0
      start = skipTo > candidate ? skipTo : nextIndex(text, candidate)
    }
    return undefined
  }

  /**
   * Finds the first match from `searchFrom` that is not empty. Searches as preg_replace does: after an empty
   * match, for one at the same place that is not empty.
   */
  function findNonEmpty(text: string, searchFrom: number, density: CandidateDensity) {
    let isRetry = false
    for (let from = searchFrom; from <= text.length; ) {
      const match = find(text, from, isRetry, density)
      if (match === undefined) {
        if (!isRetry) return undefined
        isRetry = false
        from = nextIndex(text, from)
        continue
      }
      if (match.end > startOf(match)) return match
      isRetry = true
      from = match.end
    }
    return undefined
  }

  return {
    mayMatch: candidates.test,
    test: (text) => candidates.test(text) && find(text, 0, false, new CandidateDensity()) !== undefined,
    replace(text, replacement) {
      if (!candidates.test(text)) return text
      const density = new CandidateDensity()
      const parts: string[] = []
      let copiedTo = 0
      let length = text.length
      for (;;) {
        const match = findNonEmpty(text, copiedTo, density)
        if (match === undefined) return parts.join('') + text.slice(copiedTo)
        const start = startOf(match)
        const replaced = expand(replacement, text, match, program.groupCount)
        length += replaced.length - (match.end - start)
        if (length > maxMaskedLength(text)) return undefined
        parts.push(text.slice(copiedTo, start), replaced)
        copiedTo = match.end
      }
    },
    find(text, from, replacement) {
      const density = new CandidateDensity()
      const match =
        replacement === undefined ? find(text, from, false, density) : findNonEmpty(text, from, density)
      if (match === undefined) return undefined
      const { foundAt, end } = match
      const replaced = replacement === undefined ? '' : expand(replacement, text, match, program.groupCount)
      return { foundAt, start: startOf(match), end, replacement: replaced }
    },
  }
}

function startOf({ registers }: ProgramMatch): number {
  return registers[MATCH_START] ?? 0
}

function nextIndex(text: string, index: number): number {
  return index + ((text.codePointAt(index) ?? 0) > 0xffff ? 2 : 1)
}

function expand(
  replacement: Replacement,
  text: string,
  { registers, end }: ProgramMatch,
  groupCount: number,
): string {
  return replacement
    .map((part) => {
      if (typeof part === 'string') return part
      if (part === 0) return text.slice(registers[MATCH_START], end)
      if (part > groupCount) return ''
      const groupEnd = registers[groupRegister(part) + 1] ?? -1
      return groupEnd === -1 ? '' : text.slice(registers[groupRegister(part)], groupEnd)
    })
    .join('')
}
