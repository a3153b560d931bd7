/** Gives the time as ISO 8601 UTC with six decimals, later on every call. */
export type Clock = () => string

/**
 * A clock over a source of milliseconds. Node's wall clock has no microseconds: the last three digits count calls within
 * one millisecond, so two changes never carry the same time and a clock set back does not run backwards.
 */
export function createClock(milliseconds: () => number = Date.now): Clock {
  let last = 0
  let written = Number.NaN
  let text = ''
  return () => {
    last = Math.max(milliseconds() * 1000, last + 1)
    const whole = Math.floor(last / 1000)
    if (whole !== written) {
      written = whole
      text = new Date(whole).toISOString().slice(0, -1)
    }
    return `${text}${String(last % 1000).padStart(3, '0')}Z`
  }
}
