/**
 * Returns the time as ISO 8601 UTC with six decimals. Every call returns a later time than the previous one,
 * unless the system clock was set back by more than a second.
 */
export type Clock = () => string

/** How far times may run ahead of the system clock, in microseconds. */
const MAX_LEAD = 1_000_000

/**
 * Creates a clock from a source of Unix milliseconds. Node's wall clock has no microseconds, so the last
 * three digits count the calls within a millisecond: two changes do not have the same time. After a small
 * step back of the system clock the times go on counting; after a larger one they follow it. See
 * docs/decisions/event-log.md, "Timestamps have six decimals although the clock has three".
 */
export function createClock(now: () => number = Date.now): Clock {
  let lastMicroseconds = 0
  let formattedMilliseconds = Number.NaN
  let formatted = ''
  return () => {
    const systemMicroseconds = now() * 1000
    const next = Math.max(systemMicroseconds, lastMicroseconds + 1)
    lastMicroseconds = next - systemMicroseconds > MAX_LEAD ? systemMicroseconds : next
    const milliseconds = Math.floor(lastMicroseconds / 1000)
    if (milliseconds !== formattedMilliseconds) {
      formattedMilliseconds = milliseconds
      formatted = new Date(milliseconds).toISOString().slice(0, -1)
    }
    return `${formatted}${String(lastMicroseconds % 1000).padStart(3, '0')}Z`
  }
}
