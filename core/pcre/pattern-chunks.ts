import { setImmediate } from 'node:timers/promises'
import { lazy } from '../util/lazy.ts'
import { type Automaton, buildAutomaton, encodeTexts, searchTexts } from './automaton.ts'
import { createLiteralFilter } from './literal-filter.ts'

/** A pattern of a set, in RE2 syntax with inline flags. */
export interface SetPattern {
  readonly source: string
  /** See `estimateRe2CompileCost`. */
  readonly compileCost: number
  /** See `findRequiredLiteral`. */
  readonly literal?: string | undefined
}

/**
 * Indexes of the patterns that match any of the texts, ascending and unique. Undefined if the automaton
 * failed: then the result is unknown, and each pattern must be tested separately.
 */
export type FoundPatterns = readonly number[] | undefined

/** The automata of a set of patterns, of which a search runs only those that may find something. */
interface PatternChunks {
  /** Finds out which automata may find something. `length` is that of all texts. */
  select(texts: readonly string[], length: number): SelectedChunks
}

interface SelectedChunks {
  /** The number of patterns that have to be searched for. */
  readonly patternCount: number
  /** Returns the indexes of patterns that match any of the texts, in no order. */
  search(): FoundPatterns
}

interface Chunk {
  readonly automaton: Automaton
  /** The indexes of its patterns in the set. */
  readonly indexes: readonly number[]
}

/** A chunk compiles in 3 to 5 ms. Larger sets have several automata, built in turns of their own. */
const MAX_CHUNK = { patterns: 350, compileCost: 8_000 }

/** Searching this many automata takes about as long as looking for literals. */
const MAX_UNFILTERED_CHUNKS = 2

/** In longer texts, a text that nearly has many literals could hold the event loop. */
const MAX_FILTERED_LENGTH = 100_000

/** Builds one automaton per chunk; resolves with undefined if one of them cannot be built. */
export async function buildChunks(patterns: readonly SetPattern[]): Promise<PatternChunks | undefined> {
  const groups = groupPatterns(patterns)
  const chunks: Chunk[] = []
  for (const indexes of groups) {
    await setImmediate()
    const automaton = buildAutomaton(indexes.map((index) => patterns[index]?.source ?? ''))
    if (automaton === undefined) return undefined
    chunks.push({ automaton, indexes })
  }
  await setImmediate()
  const filter = chunks.length > MAX_UNFILTERED_CHUNKS ? await buildFilter(chunks, patterns) : undefined
  return {
    select(texts, length) {
      const encoded = lazy(() => encodeTexts(texts))
      const isFiltered = filter !== undefined && length <= MAX_FILTERED_LENGTH
      const isMarked = isFiltered ? filter.mark(encoded()) : undefined
      const selected = isMarked ? chunks.filter((_, number) => isMarked[number] === 1) : chunks
      return {
        patternCount: selected.reduce((sum, { indexes }) => sum + indexes.length, 0),
        search: () => searchChunks(selected, encoded()),
      }
    },
  }
}

function searchChunks(chunks: readonly Chunk[], texts: readonly Buffer[]): FoundPatterns {
  const [only] = chunks
  if (only !== undefined && chunks.length === 1) return searchChunk(only, texts)
  const found: number[] = []
  for (const chunk of chunks) {
    const indexes = searchChunk(chunk, texts)
    if (indexes === undefined) return undefined
    for (const index of indexes) found.push(index)
  }
  return found
}

function searchChunk({ automaton, indexes }: Chunk, texts: readonly Buffer[]): FoundPatterns {
  return searchTexts(automaton, texts)?.map((position) => indexes[position] ?? -1)
}

/**
 * Divides patterns into chunks. Those without a literal come first, so that they share as few chunks as
 * possible: these are searched in every text.
 */
function groupPatterns(patterns: readonly SetPattern[]): readonly (readonly number[])[] {
  const all = [...patterns.keys()]
  const chunksOf = (indexes: readonly number[]) => {
    const chunks: number[][] = []
    let cost = 0
    for (const index of indexes) {
      const chunk = chunks.at(-1)
      cost += patterns[index]?.compileCost ?? 0
      if (chunk !== undefined && chunk.length < MAX_CHUNK.patterns && cost <= MAX_CHUNK.compileCost) {
        chunk.push(index)
        continue
      }
      chunks.push([index])
      cost = patterns[index]?.compileCost ?? 0
    }
    return chunks
  }
  const whole = chunksOf(all)
  if (whole.length <= MAX_UNFILTERED_CHUNKS) return whole
  return [
    ...chunksOf(all.filter((index) => patterns[index]?.literal === undefined)),
    ...chunksOf(all.filter((index) => patterns[index]?.literal !== undefined)),
  ]
}

/** Tells which chunks have to be searched: all whose patterns' literals occur, or that lack a literal. */
async function buildFilter(chunks: readonly Chunk[], patterns: readonly SetPattern[]) {
  const literals: [string, number][] = []
  const isAlways = new Uint8Array(chunks.length)
  for (const [number, { indexes }] of chunks.entries())
    for (const index of indexes) {
      const literal = patterns[index]?.literal
      if (literal === undefined) isAlways[number] = 1
      else literals.push([literal, number])
    }
  const filter = await createLiteralFilter(literals)
  return {
    mark(texts: readonly Buffer[]): Uint8Array {
      const isMarked = isAlways.slice()
      for (const text of texts) filter.mark(text, isMarked)
      return isMarked
    },
  }
}
