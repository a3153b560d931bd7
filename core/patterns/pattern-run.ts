import { availableParallelism } from 'node:os'
import type { PatternAnalysis, PatternSource, Replacement, ScannedText, ScanResult } from '../pcre/pattern.ts'
import { startThread } from '../threads/thread.ts'
import {
  createWorkerPool,
  type WorkerJobOptions,
  type WorkerJobResult,
  WorkerLimitError,
} from '../threads/worker-pool.ts'
import { lazy } from '../util/lazy.ts'

/** A list of texts as one text. Sending tens of thousands of strings to a thread takes ten times as long. */
interface PackedTexts {
  readonly joined: string
  readonly lengths: Uint32Array
}

export function packTexts(texts: readonly string[]): PackedTexts {
  const lengths = new Uint32Array(texts.length)
  for (let index = 0; index < texts.length; index++) lengths[index] = texts[index]?.length ?? 0
  return { joined: texts.join(''), lengths }
}

export function unpackTexts({ joined, lengths }: PackedTexts): readonly string[] {
  const texts: string[] = []
  let start = 0
  for (const length of lengths) {
    texts.push(joined.slice(start, start + length))
    start += length
  }
  return texts
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
interface PatternResults {
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
function runPatternJob<Job extends PatternJob>(
  job: Job,
  options: WorkerJobOptions,
): Promise<WorkerJobResult<PatternResults[Job['type']]>> {
  // The cast is safe: the worker returns the result of the job's type.
  return pool().run(job, options) as Promise<WorkerJobResult<PatternResults[Job['type']]>>
}

/** A pattern did not finish within the limits of its request. */
export class PatternLimitError extends Error {}

/** The time that all backtracking patterns of one request may take on the event loop. */
const MAX_EVENT_LOOP_MS = 5

/**
 * The limits of the patterns of one request. See docs/decisions/firewall.md, "Rules fail closed, and limits
 * count CPU time".
 */
export class PatternRun {
  private readonly options: WorkerJobOptions
  private cpuLimitMs: number
  private usedCpuMs = 0
  private usedEventLoopMs = 0

  constructor(options: WorkerJobOptions) {
    this.options = options
    this.cpuLimitMs = options.cpuLimitMs
  }

  /** Raises the limit, for text that arrived later. */
  addCpuMs(milliseconds: number): void {
    this.cpuLimitMs += milliseconds
  }

  /** What remains of the time on the event loop, in milliseconds. */
  get eventLoopMs(): number {
    return Math.max(0, MAX_EVENT_LOOP_MS - this.usedEventLoopMs)
  }

  spendEventLoopMs(milliseconds: number): void {
    this.usedEventLoopMs += milliseconds
  }

  /** Runs a job in a pattern worker. Rejects with a `PatternLimitError` beyond the limit of the request. */
  async runJob<Job extends PatternJob>(job: Job): Promise<PatternResults[Job['type']]> {
    const { owner, client } = this.options
    const remainingMs = this.cpuLimitMs - this.usedCpuMs
    if (remainingMs < 1) throw new PatternLimitError('no CPU time is left for patterns')
    try {
      const { result, cpuMs } = await runPatternJob(job, { owner, client, cpuLimitMs: remainingMs })
      this.usedCpuMs += cpuMs
      return result
    } catch (error) {
      if (!(error instanceof WorkerLimitError) && !isOutOfMemory(error)) throw error
      this.usedCpuMs = this.cpuLimitMs
      throw new PatternLimitError('the patterns exceeded their limit', { cause: error })
    }
  }
}

/** A thread ends when its heap is full. */
function isOutOfMemory(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY'
}

/** CPU time of the pattern workers for a request, in milliseconds. It grows with the text. */
export function scaleCpuLimit(baseMs: number, textLength: number): number {
  return baseMs * (1 + textLength / 1_000_000)
}
