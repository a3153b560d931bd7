import RE2 from 're2'
import { createCooperativeYield } from '../util/cooperative-yield.ts'
import type { MaybePromise } from '../util/maybe-promise.ts'
import { searchInRegexWorker } from './regex-worker-client.ts'

/** Patterns that are searched together, in one automaton per chunk. */
interface PatternSet {
  /** Returns a promise only for searches in the regex worker. */
  find(texts: readonly string[]): MaybePromise<FoundPatterns>
}

/**
 * Indexes of the patterns that match any of the texts, ascending and unique. Undefined if the automaton
 * failed: then the result is unknown, and each pattern must be tested separately.
 */
export type FoundPatterns = readonly number[] | undefined

/**
 * Work of a search, in patterns × characters. RE2 builds the automaton lazily, and an unfavourable text may
 * need a new state for every character, at some nanoseconds per pattern. Searches above `max` run in the
 * regex worker; searches up to `cheap` are fast for every text.
 */
const SEARCH_WORK = { cheap: 2_500_000, max: 25_000_000 }

/** A search in between that uses more CPU time than this sends later ones to the regex worker for a while. */
const SLOW_SEARCH_MICROSECONDS = 5000
const SLOW_PERIOD_MS = 60_000

/**
 * This many patterns compile in about 10 ms. Larger sets have several automata, built one after the other.
 */
const CHUNK_SIZE = 1000

const NONE: readonly number[] = []

/**
 * Compiles patterns in RE2 syntax, with inline flags. Yields to the event loop between chunks. See
 * docs/decisions/firewall.md, "A search that may be slow moves to the worker thread before it starts".
 */
export async function compilePatternSet(sources: readonly string[]): Promise<PatternSet> {
  if (sources.length === 0) return { find: () => NONE }
  const automata = await buildAutomata(sources)
  let slowUntil = 0

  function searchHere(texts: readonly string[], work: number): FoundPatterns {
    if (automata === undefined) return undefined
    if (work <= SEARCH_WORK.cheap) return searchAll(automata, texts)
    const before = process.cpuUsage()
    const found = searchAll(automata, texts)
    const { user, system } = process.cpuUsage(before)
    if (user + system > SLOW_SEARCH_MICROSECONDS) slowUntil = performance.now() + SLOW_PERIOD_MS
    return found
  }

  return {
    find(texts) {
      let length = 0
      for (const text of texts) length += text.length
      const work = sources.length * length
      const isExpensive =
        work > SEARCH_WORK.max || (work > SEARCH_WORK.cheap && performance.now() < slowUntil)
      return isExpensive
        ? searchInRegexWorker(sources, texts).then(sortUnique)
        : sortUnique(searchHere(texts, work))
    },
  }
}

/** Searches of several texts return a pattern once per text. */
function sortUnique(indexes: readonly number[] | undefined): FoundPatterns {
  if (indexes === undefined || isAscending(indexes)) return indexes
  return [...new Set(indexes)].sort((a, b) => a - b)
}

function isAscending(indexes: readonly number[]): boolean {
  for (let i = 1; i < indexes.length; i++) if ((indexes[i] ?? 0) <= (indexes[i - 1] ?? 0)) return false
  return true
}

/** Builds one automaton per chunk; returns undefined if one of them cannot be built. */
async function buildAutomata(sources: readonly string[]): Promise<readonly Automaton[] | undefined> {
  const slice = createCooperativeYield()
  const automata: Automaton[] = []
  for (let start = 0; start < sources.length; start += CHUNK_SIZE) {
    const automaton = buildAutomaton(sources.slice(start, start + CHUNK_SIZE))
    if (automaton === undefined) return undefined
    automata.push(automaton)
    if (slice.isDue()) await slice.yieldNow()
  }
  return automata
}

function searchAll(automata: readonly Automaton[], texts: readonly string[]): readonly number[] | undefined {
  const encoded = encodeTexts(texts)
  const [only] = automata
  if (only !== undefined && automata.length === 1) return searchTexts(only, encoded)
  const indexes: number[] = []
  for (const [chunk, automaton] of automata.entries()) {
    const found = searchTexts(automaton, encoded)
    if (found === undefined) return undefined
    for (const index of found) indexes.push(chunk * CHUNK_SIZE + index)
  }
  return indexes
}

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

/** Encodes texts as UTF-8. Passing strings to RE2's binding takes twice as long on 1 KB. */
export function encodeTexts(texts: readonly string[]): readonly Buffer[] {
  return texts.map((text) => Buffer.from(text))
}

/**
 * Returns a pattern in RE2 syntax that matches any of the literals, ignoring case. RE2 uses Unicode simple
 * case folding, which maps one code point to one code point, so offsets do not shift; `toLowerCase` would
 * shift them.
 */
export function buildLiteralSource(literals: readonly string[]): string {
  return `(?i:${literals.map(escapeLiteral).join('|')})`
}

/** Compiles a regular expression that matches any of the literals, ignoring case. */
export function compileLiterals(literals: readonly string[]): RE2 {
  return new RE2(buildLiteralSource(literals))
}

function escapeLiteral(literal: string): string {
  return literal.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')
}
