import { buildAutomaton, searchTexts } from './automaton.ts'
import { searchApart } from './search-apart.ts'

/** Many patterns in one automaton. */
export interface PatternSet {
  /**
   * Which patterns are found in any of the texts, by their place in the list. Undefined when the automaton gave up: then
   * nothing is known, and each pattern must be tried by itself.
   */
  find(texts: readonly string[]): Promise<ReadonlySet<number> | undefined>
}

/**
 * Patterns × characters above which the search is made on another thread. The automaton is built as texts need it, and an
 * awkward text may need a new state for every character: up to some nanoseconds for each pattern.
 */
const MOST_WORK_HERE = 25_000_000

/** A search that held this thread for longer sends its successors to the other one, for a while. */
const SLOW_MS = 5
const SLOW_FOR_MS = 60_000

/** Compiles patterns in RE2's syntax, flags inlined. */
export function compilePatternSet(sources: readonly string[]): PatternSet {
  if (sources.length === 0) return { find: async () => new Set() }
  const automaton = buildAutomaton(sources)
  let slowUntil = 0

  function searchHere(texts: readonly string[]): readonly number[] | undefined {
    const begun = performance.now()
    const found = automaton && searchTexts(automaton, texts)
    const ended = performance.now()
    if (ended - begun > SLOW_MS) slowUntil = ended + SLOW_FOR_MS
    return found
  }

  return {
    async find(texts) {
      const length = texts.reduce((sum, text) => sum + text.length, 0)
      const isHeavy = sources.length * length > MOST_WORK_HERE || performance.now() < slowUntil
      const found = isHeavy ? await searchApart(sources, texts) : searchHere(texts)
      return found && new Set(found)
    },
  }
}
