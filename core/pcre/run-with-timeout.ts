import { createContext, Script } from 'node:vm'

/**
 * Runs `job` and gives its result, or undefined when it took longer than `milliseconds`: V8 then ends it, in the middle of
 * a regular expression if need be. Costs about 50 µs for the watching thread; counts in whole milliseconds, at least one.
 * The watch goes by the clock. A job that was ended although this process hardly ran begins again: on a busy machine a
 * rule must not be let off for what others do.
 */
export function runWithTimeout<Result>(milliseconds: number, job: () => Result): Result | undefined {
  for (let time = 1; time <= MAX_TRIES; time++) {
    const before = processCpuMs()
    const outcome = tryWithTimeout(milliseconds, job)
    if (outcome !== undefined) return outcome.result
    if (processCpuMs() - before >= milliseconds / 2) return undefined
  }
  return undefined
}

const MAX_TRIES = 5

/** Milliseconds that the processor has worked for this process, on any thread. */
export function processCpuMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}

function tryWithTimeout<Result>(milliseconds: number, job: () => Result): { result: Result } | undefined {
  let outcome: { result: Result } | undefined
  sandbox.job = () => {
    outcome = { result: job() }
  }
  try {
    CALL_JOB.runInContext(sandbox, { timeout: Math.max(1, Math.floor(milliseconds)) })
  } catch (error) {
    // On a busy machine the watching thread can wake up late, and call a job late that has long been done.
    if (!isTimeoutError(error) && !isStackOverflow(error)) throw error
  } finally {
    sandbox.job = () => {}
  }
  return outcome
}

/** The job is handed over as a value: no text ever becomes code. */
const sandbox: { job: () => void } = { job: () => {} }
createContext(sandbox)

const CALL_JOB = new Script('job()')

// The first call takes milliseconds, which no request should pay.
CALL_JOB.runInContext(sandbox, { timeout: 1000 })

/** V8 raises it in the sandbox's realm, so it is no `Error` of ours. */
function isTimeoutError(error: unknown): boolean {
  return codeOf(error) === 'ERR_SCRIPT_EXECUTION_TIMEOUT'
}

function codeOf(error: unknown): unknown {
  return typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined
}

/** A regular expression that has used up its stack for backtracking was running away, too. */
function isStackOverflow(error: unknown): boolean {
  return error instanceof RangeError || (error instanceof SyntaxError && error.message.includes('overflow'))
}
