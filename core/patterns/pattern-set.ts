import RE2 from 're2'
import type { SetPattern } from '../pcre/pattern.ts'
import { isWholeLiteral, toRequiredLiteral } from '../pcre/required-literal.ts'
import { currentThreadId, readThreadCpuMs } from '../threads/thread-cpu.ts'
import { lazy } from '../util/lazy.ts'
import type { MaybePromise } from '../util/maybe-promise.ts'
import { buildChunks, type FoundPatterns, isJoinable } from './pattern-chunks.ts'
import { type PatternRun, packTexts } from './pattern-run.ts'
import { prepareTexts } from './searched-texts.ts'

/** Patterns that are searched together, in one automaton per chunk. */
interface PatternSet {
  /**
   * Returns a promise only for searches in a pattern worker. It rejects with a `PatternLimitError` beyond the
   * limit of the run.
   */
  find(texts: readonly string[], run: PatternRun): MaybePromise<FoundPatterns>
}

/**
 * Work of a search, in patterns × characters. RE2 builds the automaton lazily, and an unfavourable text may
 * need a new state for every character, at some nanoseconds per pattern. Searches above `max` run in a
 * pattern worker; searches up to `cheap` are fast for every text.
 */
const SEARCH_WORK = { cheap: 2_500_000, max: 25_000_000 }

/** Longer texts are searched in a pattern worker, whatever the patterns are. */
const MAX_LOCAL_TEXT_LENGTH = 1_000_000

/** More texts are searched one by one in a pattern worker only. */
const MAX_LOCAL_TEXTS = 1000

/** A search in between that uses more CPU time than this sends later ones to a pattern worker for a while. */
const SLOW_SEARCH_MS = 5
const SLOW_PERIOD_MS = 60_000

/** Larger sets are built in pattern workers only. */
const MAX_LOCAL_COST = { ofPattern: 10_000, ofSet: 500_000 }

const NONE: readonly number[] = []

const threadId = lazy(currentThreadId)

/** Compiles patterns. Yields to the event loop between chunks. */
export async function compilePatternSet(patterns: readonly SetPattern[]): Promise<PatternSet> {
  if (patterns.length === 0) return { find: () => NONE }
  const sources = patterns.map(({ source }) => source)
  const isLocal =
    patterns.every(({ compileCost }) => compileCost <= MAX_LOCAL_COST.ofPattern) &&
    patterns.reduce((sum, { compileCost }) => sum + compileCost, 0) <= MAX_LOCAL_COST.ofSet
  const chunks = isLocal ? await buildChunks(patterns) : undefined
  const canJoin = isJoinable(sources)
  let slowUntil = 0

  function isExpensive(work: number): boolean {
    if (work > SEARCH_WORK.max) return true
    return work > SEARCH_WORK.cheap && performance.now() < slowUntil
  }

  function measured(work: number, search: () => FoundPatterns): FoundPatterns {
    if (work <= SEARCH_WORK.cheap) return search()
    // Only this thread counts: others may be busy with the searches of this set that were moved.
    const before = readThreadCpuMs(threadId())
    const found = search()
    if (readThreadCpuMs(threadId()) - before > SLOW_SEARCH_MS) slowUntil = performance.now() + SLOW_PERIOD_MS
    return found
  }

  return {
    find(texts, run) {
      const prepared = prepareTexts(texts)
      const { length } = prepared
      if (!isLocal || length > MAX_LOCAL_TEXT_LENGTH) return searchInWorker(sources, texts, run)
      if (chunks === undefined) return undefined
      const { found, patternCount, search } = chunks.select(prepared)
      if (patternCount === 0) return sortUnique(found)
      const work = patternCount * length
      if (isExpensive(work)) return searchInWorker(sources, texts, run)
      // Most requests match nothing, and many short texts are searched faster as one.
      if (canJoin && prepared.isJoined && measured(work, () => search(prepared.joined()))?.length === 0)
        return sortUnique(found)
      if (texts.length > MAX_LOCAL_TEXTS || isExpensive(work)) return searchInWorker(sources, texts, run)
      const searched = measured(work, () => search(prepared.separate()))
      return searched && sortUnique(found.length === 0 ? searched : [...found, ...searched])
    },
  }
}

async function searchInWorker(
  sources: readonly string[],
  texts: readonly string[],
  run: PatternRun,
): Promise<FoundPatterns> {
  const set = setIdOf(sources)
  const packed = packTexts(texts)
  const first = await run.runJob({ type: 'search', set, texts: packed })
  const found =
    first === 'unknown set' ? await run.runJob({ type: 'search', set, sources, texts: packed }) : first
  return found === 'unknown set' || found === undefined ? undefined : sortUnique(found)
}

const setIds = new WeakMap<readonly string[], number>()
let lastSetId = 0

/** Returns the same id for the same list object. Workers cache automata by id. */
function setIdOf(sources: readonly string[]): number {
  const id = setIds.get(sources) ?? ++lastSetId
  setIds.set(sources, id)
  return id
}

/** Searches of several texts return a pattern once per text. */
function sortUnique(indexes: readonly number[]): readonly number[] {
  if (isAscending(indexes)) return indexes
  return [...new Set(indexes)].sort((a, b) => a - b)
}

function isAscending(indexes: readonly number[]): boolean {
  for (let i = 1; i < indexes.length; i++) if ((indexes[i] ?? 0) <= (indexes[i - 1] ?? 0)) return false
  return true
}

/**
 * Builds a pattern that matches any of the literals, ignoring case. RE2 uses Unicode simple
 * case folding, which maps one code point to one code point, so offsets do not shift; `toLowerCase` would
 * shift them.
 */
export function buildLiteralPattern(literals: readonly string[]): SetPattern {
  const source = `(?i:${literals.map(escapeLiteral).join('|')})`
  const compileCost = literals.reduce((sum, literal) => sum + literal.length, 0)
  const required = literals.map(toRequiredLiteral).filter((literal) => literal !== undefined)
  if (required.length < literals.length) return { source, compileCost }
  const isLiteral = literals.every((literal, index) => isWholeLiteral(literal, required[index]))
  return { source, compileCost, literals: required, isLiteral }
}

/** Compiles a regular expression that matches any of the literals, ignoring case. */
export function compileLiterals(literals: readonly string[]): RE2 {
  return new RE2(buildLiteralPattern(literals).source)
}

function escapeLiteral(literal: string): string {
  return literal.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')
}
