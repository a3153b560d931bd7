import RE2 from 're2'

/** Many patterns in one automaton. */
export interface PatternSet {
  /**
   * Which patterns are found in any of the texts, by their place in the list. Undefined when the automaton gave up: then
   * nothing is known, and each pattern must be tried by itself.
   */
  find(texts: readonly string[]): ReadonlySet<number> | undefined
}

/** Bytes that an automaton may use before it gives up. It takes them as it meets new texts, not at once. */
const MOST_MEMORY = 64 * 1024 * 1024

/** Compiles patterns in RE2's syntax, flags inlined; undefined when they cannot be one automaton. */
export function compilePatternSet(sources: readonly string[]): PatternSet | undefined {
  if (sources.length === 0) return { find: () => new Set() }
  const set = buildSet(sources)
  return (
    set && {
      find(texts) {
        try {
          return new Set(texts.flatMap((text) => set.match(text)))
        } catch {
          // Out of memory on this text. That is no answer, and must not read as "no match".
          return undefined
        }
      },
    }
  )
}

function buildSet(sources: readonly string[]) {
  try {
    return new RE2.Set(sources, { maxMem: MOST_MEMORY })
  } catch {
    return undefined
  }
}
