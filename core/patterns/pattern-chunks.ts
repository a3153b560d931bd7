import { setImmediate } from 'node:timers/promises'
import RE2 from 're2'
import type { SetPattern } from '../pcre/pattern.ts'
import {
  type HashedLiterals,
  hashLiterals,
  type LiteralSearch,
  type SearchedTexts,
  type TextIndex,
} from './searched-texts.ts'

/** One automaton for many patterns. */
export type Automaton = InstanceType<typeof RE2.Set>

/** Memory limit of an automaton in bytes. RE2 allocates the memory as new texts need it. */
const MAX_AUTOMATON_BYTES = 64 * 1024 * 1024

/** Builds one automaton for all patterns; returns undefined if RE2 rejects them. */
export function buildAutomaton(sources: readonly string[]): Automaton | undefined {
  try {
    return new RE2.Set(sources, 'u', { maxMem: MAX_AUTOMATON_BYTES })
  } catch {
    return undefined
  }
}

/**
 * Returns the indexes of the patterns that match any of the UTF-8 texts, unsorted; undefined if the automaton
 * ran out of memory.
 */
export function searchTexts(automaton: Automaton, texts: readonly Buffer[]): readonly number[] | undefined {
  try {
    const [only] = texts
    if (only !== undefined && texts.length === 1) return automaton.match(only)
    return texts.flatMap((text) => automaton.match(text))
  } catch {
    // Out of memory: the result is unknown, which is not the same as "no match".
    return undefined
  }
}

/** Patterns with these see where a text begins or ends, also as one of several lines. */
const TEXT_ANCHOR = /\\[Az]|\(\?m:[\^$]\)/

/** Whether the patterns match the texts, joined with line breaks, wherever they match one of them. */
export function isJoinable(sources: readonly string[]): boolean {
  return sources.every((source) => !TEXT_ANCHOR.test(source))
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
  /** Indexes of patterns that were found without an automaton. */
  readonly found: readonly number[]
  /** The number of patterns that have to be searched for. */
  readonly patternCount: number
  /** Returns the indexes of patterns that match any of the texts, in no order. */
  search(texts: readonly Buffer[]): FoundPatterns
}

interface Chunk {
  readonly automaton: Automaton
  readonly patterns: readonly SetPattern[]
  /** The indexes of its patterns in the set. */
  readonly indexes: readonly number[]
  /** Every match contains one of these; undefined if there are patterns without a literal. */
  readonly literals: HashedLiterals | undefined
}

/** A chunk compiles in 3 to 5 ms. Larger sets have several automata, built in turns of their own. */
const MAX_CHUNK = { patterns: 350, compileCost: 8_000 }

/** Searching an automaton in a shorter text takes less time than looking at its patterns one by one. */
const MIN_LITERAL_SEARCH_LENGTH = 2000

/** Builds one automaton per chunk; resolves with undefined if one of them cannot be built. */
export async function buildChunks(patterns: readonly SetPattern[]): Promise<PatternChunks | undefined> {
  const groups = groupPatterns(patterns)
  const chunks: Chunk[] = []
  for (const indexes of groups) {
    await setImmediate()
    const members = indexes.flatMap((index) => patterns[index] ?? [])
    const automaton = buildAutomaton(members.map(({ source }) => source))
    if (automaton === undefined) return undefined
    chunks.push({ automaton, patterns: members, indexes, literals: literalsOf(members) })
  }
  await setImmediate()
  const hasLiterals = chunks.some(({ literals }) => literals !== undefined)
  return {
    select(texts) {
      const index = hasLiterals ? texts.index() : undefined
      return index === undefined ? toSelected(chunks, NONE) : selectByLiterals(chunks, index, texts)
    },
  }
}

const NONE: readonly number[] = []

const NOTHING: SelectedChunks = { found: NONE, patternCount: 0, search: () => NONE }

function toSelected(chunks: readonly Chunk[], found: readonly number[]): SelectedChunks {
  return {
    found,
    patternCount: chunks.reduce((sum, { indexes }) => sum + indexes.length, 0),
    search: (encoded) => searchChunks(chunks, encoded),
  }
}

function selectByLiterals(chunks: readonly Chunk[], index: TextIndex, texts: SearchedTexts): SelectedChunks {
  const mayFindLiterals = index.isAscii && texts.length >= MIN_LITERAL_SEARCH_LENGTH
  const selected: Chunk[] = []
  const found: number[] = []
  for (const chunk of chunks) {
    if (!mayMatch(chunk, index)) continue
    const matches = mayFindLiterals ? findLiterals(chunk, index, texts.literals()) : undefined
    if (matches === undefined) selected.push(chunk)
    else found.push(...matches)
  }
  return selected.length === 0 && found.length === 0 ? NOTHING : toSelected(selected, found)
}

/**
 * Finds the patterns of a chunk without its automaton, if all of those that may match are literals: reading a
 * long text with an automaton takes many times as long. Returns undefined if some are not.
 */
function findLiterals(
  { patterns, indexes }: Chunk,
  index: TextIndex,
  search: LiteralSearch,
): readonly number[] | undefined {
  const found: number[] = []
  for (const [position, { literals, isLiteral }] of patterns.entries()) {
    if (literals === undefined) return undefined
    for (const literal of literals) {
      if (!index.mayContain(literal)) continue
      const isFound = isLiteral ? search.contains(literal) : undefined
      if (isFound === undefined) return undefined
      if (!isFound) continue
      found.push(indexes[position] ?? -1)
      break
    }
  }
  return found
}

/** Undefined if a pattern has no literal. */
function literalsOf(patterns: readonly SetPattern[]): HashedLiterals | undefined {
  const lists = patterns.map(({ literals }) => literals).filter((list) => list !== undefined)
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
