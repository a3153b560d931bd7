import { availableParallelism } from 'node:os'
import { startThread } from '../threads/thread.ts'
import { createWorkerPool, type WorkerJobOptions, type WorkerJobResult } from '../threads/worker-pool.ts'
import { lazy } from '../util/lazy.ts'
import type { PackedTexts } from './packed-texts.ts'
import type { Replacement } from './replacement.ts'
import type { ScannedText, ScanResult } from './scan.ts'

/**
 * A pattern as it is stored: a regular expression, a text that is matched without regard to case, or the name
 * of a preset.
 */
export interface PatternSource {
  readonly kind: 'regex' | 'literal' | 'preset'
  readonly text: string
}

/** What is known about a pattern without compiling it. `error` is a sentence without a final period. */
export type PatternAnalysis =
  | { readonly error: string }
  | {
      readonly engine: 're2' | 'backtracking'
      /**
       * A source for an `RE2.Set` without flags that matches every text the pattern matches. For the
       * backtracking engine it is an over-approximation. Undefined if RE2 cannot compile it, or not quickly.
       */
      readonly re2SetSource?: string
      /** See `findRequiredLiteral`. */
      readonly literal?: string | undefined
      /** An upper bound for the cost of each character of text in RE2; see `countPositions`. */
      readonly positions: number
      /** See `estimateRe2CompileCost`. */
      readonly compileCost: number
    }

/** A job for the pattern worker. */
export type PatternJob =
  | { readonly type: 'analyze'; readonly patterns: readonly PatternSource[] }
  | { readonly type: 'test'; readonly pattern: PatternSource; readonly texts: PackedTexts }
  | {
      readonly type: 'replace'
      readonly pattern: PatternSource
      readonly text: string
      readonly replacement: Replacement
    }
  | { readonly type: 'scan'; readonly pattern: PatternSource; readonly scanned: ScannedText }
  /** `set` identifies a list of sources, which is sent when the worker asks for it. */
  | {
      readonly type: 'search'
      readonly set: number
      readonly sources?: readonly string[]
      readonly texts: PackedTexts
    }

/** The result of each type of job. */
export interface PatternResults {
  readonly analyze: readonly PatternAnalysis[]
  /** Whether the pattern matches any of the texts. */
  readonly test: boolean
  /** Undefined if the result is too long. */
  readonly replace: string | undefined
  readonly scan: ScanResult
  /**
   * Indexes of the sources that match any of the texts. Undefined: the automaton failed; `unknown set`: the
   * worker needs the sources.
   */
  readonly search: readonly number[] | 'unknown set' | undefined
}

export type PatternResult = PatternResults[keyof PatternResults]

/** Two threads at least, so that one long job does not stop all users. */
const MAX_THREADS = Math.min(4, Math.max(2, availableParallelism()))

const pool = lazy(() =>
  createWorkerPool<PatternJob, PatternResult>({
    start: () => startThread('./pattern-worker', import.meta.url, { name: 'patterns' }),
    maxThreads: MAX_THREADS,
  }),
)

/**
 * Runs a job in a thread, so that it does not hold the event loop. Rejects with a `WorkerLimitError` if it
 * exceeds its CPU time, and with a `WorkerJobCancelledError` if the client disconnects. See
 * docs/decisions/firewall.md, "What may take long runs in pattern workers".
 */
export function runPatternJob<Job extends PatternJob>(
  job: Job,
  options: WorkerJobOptions,
): Promise<WorkerJobResult<PatternResults[Job['type']]>> {
  // The cast is safe: the worker returns the result of the job's type.
  return pool().run(job, options) as Promise<WorkerJobResult<PatternResults[Job['type']]>>
}
