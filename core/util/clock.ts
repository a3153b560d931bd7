/**
 * Returns the time as ISO 8601 UTC with six decimals. Every call returns a later time than the previous one.
 */
export type Clock = () => string

/**
 * Creates a clock from a source of Unix milliseconds. Node's wall clock has no microseconds, so the last
 * three digits count the calls within a millisecond: two changes never have the same time, and the clock
 * never goes backwards when the system time does. See docs/decisions/event-log.md, "Timestamps have six
 * decimals although the clock has three".
 */
export function createClock(now: () => number = Date.now): Clock {
  let lastMicroseconds = 0
  let formattedMilliseconds = Number.NaN
  let formatted = ''
  return () => {
    lastMicroseconds = Math.max(now() * 1000, lastMicroseconds + 1)
    const milliseconds = Math.floor(lastMicroseconds / 1000)
    if (milliseconds !== formattedMilliseconds) {
      formattedMilliseconds = milliseconds
      formatted = new Date(milliseconds).toISOString().slice(0, -1)
    }
    return `${formatted}${String(lastMicroseconds % 1000).padStart(3, '0')}Z`
  }
}
