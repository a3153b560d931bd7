/** Limits are per minute. */
export const WINDOW_SECONDS = 60

/**
 * What every limiter is made with. It only counts: limits differ by user and change at any time, so they are compared
 * with the count, and one limiter serves them all.
 */
export function limiterOptions(windowSeconds: number, keyPrefix = 'signalbox:requests') {
  return { keyPrefix, points: Number.MAX_SAFE_INTEGER, duration: windowSeconds }
}
