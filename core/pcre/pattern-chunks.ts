import { setImmediate } from 'node:timers/promises'
import { type Automaton, buildAutomaton, searchTexts } from './automaton.ts'
import type { SearchedTexts } from './searched-texts.ts'
import { type HashedLiterals, hashLiterals, type TextIndex } from './text-index.ts'

/** A pattern of a set, in RE2 syntax with inline flags. */
export interface SetPattern {
  readonly source: string
  /** See `estimateRe2CompileCost`. */
  readonly compileCost: number
  /** Every match contains one of these; see `findRequiredLiteral`. Undefined if that is not known. */
  readonly literals?: readonly string[] | undefined
}

/**
 * Indexes of the patterns that match any of the texts, ascending and unique. Undefined if the automaton
 * failed: then the result is unknown, and each pattern must be tested separately.
 */
export type FoundPatterns = readonly number[] | undefined

/** The automata of a set of patterns, of which a search runs only those that may find something. */
interface PatternChunks {
  /** Finds out which automata may find something. */
  select(texts: SearchedTexts): SelectedChunks
}

interface SelectedChunks {
  /** The number of patterns that have to be searched for. */
  readonly patternCount: number
  /** Returns the indexes of patterns that match any of the texts, in no order. */
  search(texts: readonly Buffer[]): FoundPatterns
}

interface Chunk {
  readonly automaton: Automaton
  /** The indexes of its patterns in the set. */
  readonly indexes: readonly number[]
  /** Every match contains one of these; undefined if there are patterns without a literal. */
  readonly literals: HashedLiterals | undefined
}

/** A chunk compiles in 3 to 5 ms. Larger sets have several automata, built in turns of their own. */
const MAX_CHUNK = { patterns: 350, compileCost: 8_000 }

/** Searching up to two automata in a shorter text takes less time than looking for literals. */
const MIN_INDEXED = { chunks: 3, length: 512 }

/** Builds one automaton per chunk; resolves with undefined if one of them cannot be built. */
export async function buildChunks(patterns: readonly SetPattern[]): Promise<PatternChunks | undefined> {
  const groups = groupPatterns(patterns)
  const chunks: Chunk[] = []
  for (const indexes of groups) {
    await setImmediate()
    const automaton = buildAutomaton(indexes.map((index) => patterns[index]?.source ?? ''))
    if (automaton === undefined) return undefined
    const literals = literalsOf(indexes.map((index) => patterns[index]))
    chunks.push({ automaton, indexes, literals })
  }
  await setImmediate()
  const hasLiterals = chunks.some(({ literals }) => literals !== undefined)
  return {
    select(texts) {
      const isLong = chunks.length >= MIN_INDEXED.chunks || texts.length >= MIN_INDEXED.length
      const index = hasLiterals && isLong ? texts.index() : undefined
      const selected = index === undefined ? chunks : chunks.filter((chunk) => mayMatch(chunk, index))
      return {
        patternCount: selected.reduce((sum, { indexes }) => sum + indexes.length, 0),
        search: (encoded) => searchChunks(selected, encoded),
      }
    },
  }
}

/** Undefined if a pattern has no literal. */
function literalsOf(patterns: readonly (SetPattern | undefined)[]): HashedLiterals | undefined {
  const lists = patterns.map((pattern) => pattern?.literals).filter((list) => list !== undefined)
  return lists.length === patterns.length ? hashLiterals(lists.flat()) : undefined
}

function mayMatch({ literals }: Chunk, index: TextIndex): boolean {
  return literals === undefined || index.mayContainAny(literals)
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
  return [
    ...chunksOf(all.filter((index) => patterns[index]?.literals === undefined)),
    ...chunksOf(all.filter((index) => patterns[index]?.literals !== undefined)),
  ]
}
