import RE2 from 're2'
import { createCooperativeYield } from '../util/cooperative-yield.ts'
import { searchInRegexWorker } from './regex-worker-client.ts'

/** Many patterns in one automaton. */
interface PatternSet {
  /**
   * Which patterns are found in any of the texts: their places in the list, ascending, each once. Undefined when the automaton
   * gave up: then nothing is known, and each pattern must be tried by itself.
   */
  find(texts: readonly string[]): FoundPatterns | Promise<FoundPatterns>
}

/** A promise of it is given only by a search on the other thread. */
export type FoundPatterns = readonly number[] | undefined

/**
 * Patterns × characters. The automaton is built as texts need it, and an awkward text may need a new state for every
 * character, at some nanoseconds for each pattern: above `most` the search is made on another thread, below `least` it is
 * quick whatever the text.
 */
const WORK = { least: 2_500_000, most: 25_000_000 }

/** A search that worked for longer, by the processor's clock, sends its successors to the other thread for a while. */
const SLOW_MICROSECONDS = 5000
const SLOW_FOR_MS = 60_000

/** So many patterns compile in some 10 ms; larger sets are several automata, made one after the other. */
const CHUNK = 1000

const NOTHING: readonly number[] = []

/** Compiles patterns in RE2's syntax, flags inlined, in time slices. */
export async function compilePatternSet(sources: readonly string[]): Promise<PatternSet> {
  if (sources.length === 0) return { find: () => NOTHING }
  const automata = await buildAutomata(sources)
  let slowUntil = 0

  function searchHere(texts: readonly string[], work: number): readonly number[] | undefined {
    if (automata === undefined) return undefined
    if (work <= WORK.least) return searchAll(automata, texts)
    const before = process.cpuUsage()
    const found = searchAll(automata, texts)
    const { user, system } = process.cpuUsage(before)
    if (user + system > SLOW_MICROSECONDS) slowUntil = performance.now() + SLOW_FOR_MS
    return found
  }

  return {
    find(texts) {
      let length = 0
      for (const text of texts) length += text.length
      const work = sources.length * length
      const isHeavy = work > WORK.most || (work > WORK.least && performance.now() < slowUntil)
      return isHeavy ? searchInRegexWorker(sources, texts).then(inOrder) : inOrder(searchHere(texts, work))
    },
  }
}

/** What is found in several texts comes once for each. */
function inOrder(places: readonly number[] | undefined): FoundPatterns {
  if (places === undefined || isAscending(places)) return places
  return [...new Set(places)].sort((a, b) => a - b)
}

function isAscending(places: readonly number[]): boolean {
  for (let at = 1; at < places.length; at++) if ((places[at] ?? 0) <= (places[at - 1] ?? 0)) return false
  return true
}

/** One automaton for each chunk; undefined when one of them cannot be made. */
async function buildAutomata(sources: readonly string[]): Promise<readonly Automaton[] | undefined> {
  const slice = createCooperativeYield()
  const automata: Automaton[] = []
  for (let from = 0; from < sources.length; from += CHUNK) {
    const automaton = buildAutomaton(sources.slice(from, from + CHUNK))
    if (automaton === undefined) return undefined
    automata.push(automaton)
    if (slice.isDue()) await slice.yieldNow()
  }
  return automata
}

function searchAll(automata: readonly Automaton[], texts: readonly string[]): readonly number[] | undefined {
  const bytes = bytesOf(texts)
  const [only] = automata
  if (only !== undefined && automata.length === 1) return searchTexts(only, bytes)
  const places: number[] = []
  for (const [chunk, automaton] of automata.entries()) {
    const found = searchTexts(automaton, bytes)
    if (found === undefined) return undefined
    for (const place of found) places.push(chunk * CHUNK + place)
  }
  return places
}

export type Automaton = InstanceType<typeof RE2.Set>

/** Bytes that an automaton may use before it gives up. It takes them as it meets new texts, not at once. */
const MOST_MEMORY = 64 * 1024 * 1024

/** One automaton for all patterns; undefined when they cannot be one. */
export function buildAutomaton(sources: readonly string[]): Automaton | undefined {
  try {
    return new RE2.Set(sources, 'u', { maxMem: MOST_MEMORY })
  } catch {
    return undefined
  }
}

/** The places of the patterns that are found in any of the texts, as bytes; undefined when the automaton gave up. */
export function searchTexts(automaton: Automaton, texts: readonly Buffer[]): readonly number[] | undefined {
  try {
    const [only] = texts
    if (only !== undefined && texts.length === 1) return automaton.match(only)
    return texts.flatMap((text) => automaton.match(text))
  } catch {
    // Out of memory on this text. That is no answer, and must not read as "no match".
    return undefined
  }
}

/** Bytes made here are cheaper than strings that RE2's binding turns into bytes itself: half the time on 1 KB. */
export function bytesOf(texts: readonly string[]): readonly Buffer[] {
  return texts.map((text) => Buffer.from(text))
}

/**
 * A pattern for any of the literals in any case, in RE2's syntax. Case is ignored as in Unicode simple case folding, one
 * code point for one code point, so offsets never shift; `toLowerCase` would shift them.
 */
export function buildLiteralSource(literals: readonly string[]): string {
  return `(?i:${literals.map(escapeLiteral).join('|')})`
}

/** Finds any of the literals in a text. */
export function compileLiterals(literals: readonly string[], flags: '' | 'g' = ''): RE2 {
  return new RE2(buildLiteralSource(literals), flags)
}

function escapeLiteral(literal: string): string {
  return literal.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')
}
