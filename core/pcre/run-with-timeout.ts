import { createContext, Script } from 'node:vm'

/**
 * Runs `job` and returns its result, or undefined if it took longer than `timeoutMs`. V8 interrupts the job
 * even in the middle of a regular expression. The timeout is rounded down to whole milliseconds, with a
 * minimum of 1; the watchdog thread costs about 50 µs.
 *
 * The timeout is wall-clock time. A job that was interrupted although this process used little CPU time is
 * retried: load from other processes must not make a firewall rule fail to match.
 */
export function runWithTimeout<Result>(timeoutMs: number, job: () => Result): Result | undefined {
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
    const cpuBefore = processCpuMs()
    const outcome = tryWithTimeout(timeoutMs, job)
    if (outcome !== undefined) return outcome.result
    if (processCpuMs() - cpuBefore >= timeoutMs / 2) return undefined
  }
  return undefined
}

const MAX_ATTEMPTS = 5

/** The CPU time that all threads of this process have used, in milliseconds. */
export function processCpuMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}

function tryWithTimeout<Result>(timeoutMs: number, job: () => Result): { result: Result } | undefined {
  let outcome: { result: Result } | undefined
  sandbox.job = () => {
    outcome = { result: job() }
  }
  try {
    CALL_JOB.runInContext(sandbox, { timeout: Math.max(1, Math.floor(timeoutMs)) })
  } catch (error) {
    // On a busy machine the watchdog can wake up late and report a timeout after the job has finished; its
    // result is used.
    if (!isTimeoutError(error) && !isStackOverflow(error)) throw error
  } finally {
    sandbox.job = () => {}
  }
  return outcome
}

/** The job is passed as a value, so no user input is ever compiled as code. */
const sandbox: { job: () => void } = { job: () => {} }
createContext(sandbox)

const CALL_JOB = new Script('job()')

// The first call takes several milliseconds, so it is made here instead of in a request.
CALL_JOB.runInContext(sandbox, { timeout: 1000 })

/** V8 throws the timeout error in the sandbox's realm, so `instanceof Error` does not recognize it. */
function isTimeoutError(error: unknown): boolean {
  if (typeof error !== 'object' || error === null || !('code' in error)) return false
  return error.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT'
}

/** A regular expression that overflows its backtracking stack counts as a timeout. */
function isStackOverflow(error: unknown): boolean {
  return error instanceof RangeError || (error instanceof SyntaxError && error.message.includes('overflow'))
}
