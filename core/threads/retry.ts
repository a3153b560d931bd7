import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { EventLogUnavailableError } from '../contract/index.ts'
import { untilAborted } from './timeout.ts'

/** The delays between attempts. Stateful: one per retry loop. */
interface Backoff {
  /**
   * Returns the delay before the next attempt in milliseconds; undefined if there are to be no more attempts.
   */
  nextMs(): number | undefined
  /** Starts again with the first delay: call it when the operation works again. */
  reset(): void
}

/**
 * Delays that double from `firstMs` up to `maxMs` milliseconds, without a limit on the number of attempts.
 */
export function exponentialBackoff({ firstMs, maxMs }: { firstMs: number; maxMs: number }) {
  let delayMs = firstMs
  return {
    nextMs() {
      const current = delayMs
      delayMs = Math.min(delayMs * 2, maxMs)
      return current
    },
    reset() {
      delayMs = firstMs
    },
  } satisfies Backoff
}

/** One retry after each of the delays, in milliseconds: `fixedBackoff([0, 500])` allows three attempts. */
export function fixedBackoff(delaysMs: readonly number[]): Backoff {
  let retries = 0
  return {
    nextMs: () => delaysMs[retries++],
    reset() {
      retries = 0
    },
  }
}

interface RetryOptions {
  readonly backoff: Backoff
  /** Stops the retries. An attempt in flight is awaited; a successful one still counts. */
  readonly signal?: AbortSignal
  /** Returns false for errors that another attempt cannot fix. Default: every error is retried. */
  readonly shouldRetry?: (error: unknown) => boolean
  /** Called before each delay, for example to log the error. */
  readonly onRetry?: (error: unknown, delayMs: number) => void
  /** Waits between attempts. Default: a timer. */
  readonly wait?: Wait
}

/** Resolves after `delayMs`, or when the signal aborts. */
export type Wait = (delayMs: number, signal: AbortSignal | undefined) => Promise<unknown>

const waitForTimer: Wait = (delayMs, signal) => untilAborted(sleep(delayMs, undefined, { signal }), signal)

/**
 * Calls `run` until it succeeds, and resolves to its result. Rejects with the last error if `shouldRetry`
 * returns false or the backoff ends, and with the signal's reason instead of another attempt if the signal
 * has aborted.
 */
export async function retry<Result>(
  run: () => Promise<Result>,
  { backoff, signal, shouldRetry = () => true, onRetry, wait = waitForTimer }: RetryOptions,
): Promise<Result> {
  for (;;) {
    signal?.throwIfAborted()
    try {
      return await run()
    } catch (error) {
      if (!shouldRetry(error)) throw error
      signal?.throwIfAborted()
      const delayMs = backoff.nextMs()
      if (delayMs === undefined) throw error
      onRetry?.(error, delayMs)
      if (delayMs > 0) await wait(delayMs, signal)
    }
  }
}

/**
 * Runs an operation on the event log and retries it while the log is temporarily unavailable. Rejects with
 * other errors, and immediately with the signal's reason if the signal aborts: the result of an attempt in
 * flight is then ignored.
 */
export function retryWhileUnavailable<Result>(
  run: () => Promise<Result>,
  logger: Logger,
  signal: AbortSignal,
): Promise<Result> {
  return retry(() => untilAborted(run(), signal), {
    backoff: exponentialBackoff({ firstMs: 250, maxMs: 5000 }),
    signal,
    shouldRetry: (error) => EventLogUnavailableError.isInstance(error) && error.transient,
    onRetry: (error, delayMs) => logger.warn({ err: error, delayMs }, 'event log unavailable; retrying'),
  })
}
