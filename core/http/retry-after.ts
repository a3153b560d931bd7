/** Rounds up to whole seconds. At least 1, because clients that retry after 0 seconds are refused again. */
export function toRetryAfterSeconds(ms: number): number {
  return Math.max(Math.ceil(ms / 1000), 1)
}

/** Returns the last sentence of error messages that tell clients when to retry. */
export function retryAdvice(seconds: number): string {
  return `Try again in ${seconds} ${seconds === 1 ? 'second' : 'seconds'}.`
}

/** Formats a duration like OpenAI's rate limit headers: `59s`, `1m0s`. */
export function formatDuration(seconds: number): string {
  return seconds < 60 ? `${seconds}s` : `${Math.floor(seconds / 60)}m${seconds % 60}s`
}
