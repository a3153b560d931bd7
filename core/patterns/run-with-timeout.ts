import { createContext, Script } from 'node:vm'
import { currentThreadId, readThreadCpuMs } from '../threads/thread-cpu.ts'
import { WorkerLimitError } from '../threads/worker-pool.ts'
import { lazy } from '../util/lazy.ts'

/**
 * Runs `job` and returns its result, or undefined if it took longer than `timeoutMs` of wall-clock time. V8
 * interrupts the job even in the middle of a regular expression. The timeout is rounded down to whole
 * milliseconds, with a minimum of 1; the watchdog thread costs about 50 µs.
 */
export function runWithTimeout<Result>(timeoutMs: number, job: () => Result): { result: Result } | undefined {
  const outcome = tryWithTimeout(timeoutMs, job)
  return typeof outcome === 'object' ? outcome : undefined
}

/**
 * Runs `job` and returns its result. Throws a `WorkerLimitError` once it has used `cpuLimitMs` of CPU time
 * of this thread. A job that was interrupted earlier because the machine is busy is started again.
 */
export function runWithCpuLimit<Result>(cpuLimitMs: number, job: () => Result): Result {
  const startedAt = readThreadCpuMs(threadId())
  for (let timeoutMs = cpuLimitMs; ; timeoutMs *= 2) {
    const outcome = tryWithTimeout(timeoutMs, job)
    if (typeof outcome === 'object') return outcome.result
    const usedMs = readThreadCpuMs(threadId()) - startedAt
    if (outcome === 'overflow' || usedMs >= cpuLimitMs * INTERRUPTED_SHARE)
      throw new WorkerLimitError('the pattern reached its CPU limit')
  }
}

const threadId = lazy(currentThreadId)

/** A job that was interrupted at the limit has used a little less CPU time than wall-clock time. */
const INTERRUPTED_SHARE = 0.9

function tryWithTimeout<Result>(
  timeoutMs: number,
  job: () => Result,
): { readonly result: Result } | 'timeout' | 'overflow' {
  let outcome: { readonly result: Result } | undefined
  sandbox.job = () => {
    outcome = { result: job() }
  }
  try {
    CALL_JOB.runInContext(sandbox, { timeout: Math.max(1, Math.floor(timeoutMs)) })
  } catch (error) {
    if (isStackOverflow(error)) return 'overflow'
    // On a busy machine the watchdog can wake up late and report a timeout after the job has finished; its
    // result is used.
    if (!isTimeoutError(error)) throw error
  } finally {
    sandbox.job = () => {}
  }
  return outcome ?? 'timeout'
}

/** The job is passed as a value, so no user input is ever compiled as code. */
const sandbox: { job: () => void } = { job: () => {} }
createContext(sandbox)

const CALL_JOB = new Script('job()')

// The first call takes several milliseconds, so it is made here instead of in a request. On a machine that is
// busy for a second it may be interrupted, which does not matter.
tryWithTimeout(1000, () => undefined)

/** V8 throws the timeout error in the sandbox's realm, so `instanceof Error` does not recognize it. */
function isTimeoutError(error: unknown): boolean {
  if (typeof error !== 'object' || error === null || !('code' in error)) return false
  return error.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT'
}

/** A regular expression that overflows its backtracking stack never finishes. */
function isStackOverflow(error: unknown): boolean {
  return error instanceof RangeError || (error instanceof SyntaxError && error.message.includes('overflow'))
}
