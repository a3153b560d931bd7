import { LRUCache } from 'lru-cache'
import { prepareCaseVariants } from '../pcre/case-folding.ts'
import { analyzeBeginning, analyzePattern, createMatcher } from '../pcre/compile.ts'
import {
  maxMaskedLength,
  type PatternAnalysis,
  type PatternSource,
  type Replacement,
  replacementLength,
  type ScannedText,
  type ScanResult,
  type SetPattern,
} from '../pcre/pattern.ts'
import { lacksLiteral } from '../pcre/required-literal.ts'
import { createCooperativeYield, mapInSlices } from '../util/cooperative-yield.ts'
import { lazy } from '../util/lazy.ts'
import type { MaybePromise } from '../util/maybe-promise.ts'
import { isJoinable } from './pattern-chunks.ts'
import { PatternLimitError, PatternRun, packTexts } from './pattern-run.ts'
import { runWithTimeout } from './run-with-timeout.ts'

/** A pattern, ready to run. Methods throw or reject with a `PatternLimitError` beyond a limit of the run. */
export interface CompiledPattern {
  readonly engine: 're2' | 'backtracking'
  /** See `PatternAnalysis`. */
  readonly re2SetSource?: string
  readonly literal?: string | undefined
  readonly positions: number
  readonly compileCost: number
  /** Where a match may begin, for a search of many patterns. Undefined if any text may be a beginning. */
  readonly beginning: SetPattern | undefined
  /** Returns a promise for what could hold the event loop: it runs in a pattern worker. */
  test(text: string, run: PatternRun): MaybePromise<boolean>
  /** Whether the pattern matches any of the texts. Does not hold the event loop, however many there are. */
  testAny(texts: readonly string[], run: PatternRun): Promise<boolean>
  /** Whether the pattern may match any of a few short texts. False is certain. */
  mayMatchAny(texts: readonly string[]): boolean
  /** Replaces every non-empty match. Returns a promise like `test`. */
  replace(text: string, replacement: Replacement, run: PatternRun): MaybePromise<string>
  /** Scans a text of which more will follow. Returns a promise like `test`. */
  scan(scanned: ScannedText, run: PatternRun): MaybePromise<ScanResult>
}

/** A pattern that is invalid or not supported. `error` is a sentence without a final period. */
interface NotEvaluable {
  readonly error: string
}

/** Longer patterns are neither analyzed nor compiled on the event loop: that would take milliseconds. */
const MAX_LOCAL_LENGTH = 1000

/** Least recently used patterns are evicted. After a rule change, only changed patterns are analyzed. */
const compiledPatterns = new LRUCache<string, CompiledPattern | NotEvaluable>({
  maxSize: 20_000_000,
  sizeCalculation: (_, key) => key.length + 500,
})

const keyOf = ({ kind, text }: PatternSource) => `${kind} ${text}`

/** Whether `compilePattern` returns immediately: the pattern is known or short. */
export function isPrepared(source: PatternSource): boolean {
  return source.text.length <= MAX_LOCAL_LENGTH || compiledPatterns.has(keyOf(source))
}

/**
 * Analyzes patterns before `compilePattern` is called for them, in time slices, and the long ones in a
 * pattern worker. Rejects with a `PatternLimitError` if that takes too long.
 */
export async function preparePatterns(sources: readonly PatternSource[], owner: number): Promise<void> {
  const missing = sources.filter((source) => !compiledPatterns.has(keyOf(source)))
  const long = missing.filter((source) => !isPrepared(source))
  for (let start = 0; start < long.length; start += LONG_PATTERNS_PER_JOB)
    await analyzeInWorker(long.slice(start, start + LONG_PATTERNS_PER_JOB), owner)
  const slice = createCooperativeYield()
  if (missing.some(({ text }) => MAY_HOLD_FOREIGN_LETTERS.test(text))) await prepareCaseVariants(slice)
  await mapInSlices(missing, compilePattern, slice)
}

/** Letters outside of ASCII, and escapes that may stand for some. */
const MAY_HOLD_FOREIGN_LETTERS = /[^\0-\x7f]|\\[xopPN]/

/** Users' jobs take turns, so a job is short. */
const LONG_PATTERNS_PER_JOB = 20
const ANALYZE_CPU_LIMIT_MS = 5000

async function analyzeInWorker(patterns: readonly PatternSource[], owner: number): Promise<void> {
  // A queue of its own: while a search of the owner is stuck, changes to their rules must be possible.
  const run = new PatternRun({ owner: -owner, cpuLimitMs: ANALYZE_CPU_LIMIT_MS })
  const analyses = await run.runJob({ type: 'analyze', patterns })
  for (const [index, source] of patterns.entries()) {
    const analysis = analyses[index]
    if (analysis !== undefined) compiledPatterns.set(keyOf(source), buildPattern(source, analysis))
  }
}

/**
 * Compiles a pattern of a firewall rule (docs/firewall-patterns.md). A pattern that cannot be evaluated is
 * not an error: the rule is stored and never matches. Call `preparePatterns` first for long patterns.
 */
export function compilePattern(source: PatternSource): CompiledPattern | NotEvaluable {
  const key = keyOf(source)
  const cached = compiledPatterns.get(key)
  if (cached !== undefined) return cached
  const compiled = buildPattern(source, analyzePattern(source))
  compiledPatterns.set(key, compiled)
  return compiled
}

function buildPattern(source: PatternSource, analysis: PatternAnalysis): CompiledPattern | NotEvaluable {
  if ('error' in analysis) return analysis
  const isLocal = source.text.length <= MAX_LOCAL_LENGTH
  const { engine, positions, re2SetSource } = analysis
  const canJoin = re2SetSource !== undefined && isJoinable([re2SetSource])
  const matcher = lazy(() => createMatcher(source))
  /** Whether RE2 takes at most about 2 ms, in the worst case. */
  const isQuickInRe2 = (length: number) => isLocal && positions * length * MAX_MS_PER_STEP <= MAX_RE2_MS

  /** Runs a backtracking pattern on the event loop; undefined if it takes longer than the run has left. */
  function tryHere<Result>(run: PatternRun, work: () => Result): { readonly result: Result } | undefined {
    const startedAt = performance.now()
    if (run.eventLoopMs < 1) return undefined
    const outcome = runWithTimeout(run.eventLoopMs, work)
    run.spendEventLoopMs(performance.now() - startedAt)
    return outcome
  }

  /** `unmatched` is the result for a text in which RE2 finds no candidate. */
  function evaluate<Result>(
    text: string,
    run: PatternRun,
    unmatched: Result,
    work: () => Result,
  ): { readonly result: Result } | undefined {
    if (!isQuickInRe2(text.length)) return undefined
    if (engine === 're2') return { result: work() }
    return matcher().mayMatch?.(text) === false ? { result: unmatched } : tryHere(run, work)
  }

  function testHere(text: string, run: PatternRun): boolean | undefined {
    return evaluate(text, run, false, () => matcher().test(text))?.result
  }

  const testInWorker = (texts: readonly string[], run: PatternRun) =>
    run.runJob({ type: 'test', pattern: source, texts: packTexts(texts) })

  const beginning = lazy(() => (isLocal ? { found: analyzeBeginning(source) } : undefined))
  return {
    ...analysis,
    get beginning() {
      return beginning()?.found
    },
    test(text, run) {
      if (text.length <= MAX_LITERAL_TEXT && lacksLiteral(text, analysis.literal)) return false
      return testHere(text, run) ?? testInWorker([text], run)
    },
    async testAny(texts, run) {
      const slice = createCooperativeYield()
      for (const [index, text] of texts.entries()) {
        const matches = testHere(text, run)
        if (matches === undefined) return testInWorker(texts.slice(index), run)
        if (matches) return true
        if (slice.isDue()) await slice.yieldNow()
      }
      return false
    },
    mayMatchAny(texts) {
      const joined = canJoin ? texts.join('\n') : undefined
      if (joined === undefined || !isQuickInRe2(joined.length)) return true
      return engine === 're2' ? matcher().test(joined) : matcher().mayMatch?.(joined) !== false
    },
    replace(text, replacement, run) {
      const isShort = text.length * replacementLength(replacement) <= MAX_LOCAL_RESULT
      const outcome = isShort
        ? evaluate<string | undefined>(text, run, text, () => matcher().replace(text, replacement))
        : undefined
      if (outcome !== undefined) return requireResult(outcome.result, text)
      return run
        .runJob({ type: 'replace', pattern: source, text, replacement })
        .then((result) => requireResult(result, text))
    },
    scan(scanned, run) {
      const { text, from } = scanned
      // What finds open matches is twice as large as the pattern.
      if (isQuickInRe2(3 * (text.length - from))) {
        const result = matcher().scanInRe2(scanned)
        const completed = result ?? tryHere(run, () => matcher().scan(scanned))?.result
        if (completed !== undefined) return completed
      }
      return run.runJob({ type: 'scan', pattern: source, scanned })
    },
  }
}

/**
 * The worst case for one character of text and one position of the pattern. RE2 cannot be interrupted. It is
 * linear in the text, but once its automaton exceeds its memory, every position can cost this much for every
 * character: `a[ab]{900}c` takes 300 ms on 100 KB.
 */
const MAX_MS_PER_STEP = 8e-6
const MAX_RE2_MS = 2

/** In a short text, RE2 takes ten times as long as a search for the literal. */
const MAX_LITERAL_TEXT = 1000

/** Characters of a result with every single character replaced; building it takes a few milliseconds. */
const MAX_LOCAL_RESULT = 2_000_000

function requireResult(result: string | undefined, text: string): string {
  if (result !== undefined) return result
  throw new PatternLimitError(`the masked text is longer than ${maxMaskedLength(text)} characters`)
}
