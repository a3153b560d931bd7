import { type WorkerJobOptions, WorkerLimitError } from '../threads/worker-pool.ts'
import { type PatternJob, type PatternResults, runPatternJob } from './pattern-pool.ts'

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
