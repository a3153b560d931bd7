/** A range of the address: `from` is a length up to now, such as `24h`, or a time; `to` is a time, or now. */
export interface RangeTexts {
  readonly from?: string | null | undefined
  readonly to?: string | null | undefined
}

/** Times of a query, the second of which is not part of the range. A range without one ends with now. */
export interface TimeRange {
  readonly since: string
  readonly until?: string
}

export const PRESETS: readonly (readonly [from: string, label: string])[] = [
  ['1h', 'Last hour'],
  ['6h', 'Last 6 hours'],
  ['24h', 'Last 24 hours'],
  ['7d', 'Last 7 days'],
  ['30d', 'Last 30 days'],
  ['90d', 'Last 90 days'],
  ['365d', 'Last year'],
]

/** The range of pages without one in the address. */
export const DEFAULT_FROM = '24h'

export const MINUTE_MS = 60_000
export const HOUR_MS = 3_600_000
export const DAY_MS = 86_400_000

const UNITS_MS: Readonly<Record<string, number>> = { m: MINUTE_MS, h: HOUR_MS, d: DAY_MS }

/** The gateway reads ranges of up to six hours by minute, and longer ones by hour. */
const MAX_BY_MINUTE_MS = 6 * HOUR_MS

/** Longer ones that end with now begin with a day. */
const MAX_BY_HOUR_MS = 8 * DAY_MS

/** Returns the length of `24h`; undefined for what is no length. */
export function parseLength(text: string): number | undefined {
  const [, count, unit = ''] = /^([1-9]\d{0,4})([mhd])$/.exec(text) ?? []
  return count === undefined ? undefined : Number(count) * (UNITS_MS[unit] ?? 0)
}

/**
 * Returns the times of a range, in steps by which all pages count alike: whole minutes, hours, or days in the
 * zone of the viewer. What is no range is the default one.
 */
export function resolveRange({ from, to }: RangeTexts, isUtc: boolean, now = Date.now()): TimeRange {
  const start = Date.parse(from ?? '')
  const end = Date.parse(to ?? '')
  const isOpen = Number.isNaN(end)
  if (Number.isNaN(start) || (isOpen ? now : end) <= start)
    return { since: toTime(startOfLength(parseLength(from ?? '') ?? DAY_MS, isUtc, now)) }
  const last = isOpen ? now : end
  const byMinute = roundUp(last, MINUTE_MS) - roundDown(start, MINUTE_MS)
  const unit = byMinute <= MAX_BY_MINUTE_MS ? MINUTE_MS : HOUR_MS
  const since = toTime(roundDown(start, unit))
  return isOpen ? { since } : { since, until: toTime(roundUp(end, unit)) }
}

const roundDown = (ms: number, unit: number) => Math.floor(ms / unit) * unit
const roundUp = (ms: number, unit: number) => Math.ceil(ms / unit) * unit

/** The current minute, hour or day is the last one of the range. */
function startOfLength(lengthMs: number, isUtc: boolean, now: number): number {
  if (lengthMs > MAX_BY_HOUR_MS) return startOfDay(now, lengthMs / DAY_MS - 1, isUtc)
  const unit = lengthMs <= MAX_BY_MINUTE_MS ? MINUTE_MS : HOUR_MS
  return roundDown(now, unit) + unit - lengthMs
}

/** Days may have 23 or 25 hours, and begin in the middle of an hour of UTC. */
function startOfDay(now: number, daysBefore: number, isUtc: boolean): number {
  const date = new Date(now)
  if (isUtc) date.setUTCHours(0, 0, 0, 0)
  else date.setHours(0, 0, 0, 0)
  if (isUtc) date.setUTCDate(date.getUTCDate() - daysBefore)
  else date.setDate(date.getDate() - daysBefore)
  return roundDown(date.getTime(), HOUR_MS)
}

/** Returns the month that has begun, or with 1 the one before it. */
export function monthRange(monthsBefore: number, isUtc: boolean, now = Date.now()): RangeTexts {
  const startOfMonth = (before: number) => {
    const date = new Date(now)
    if (isUtc) return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() - before)
    return new Date(date.getFullYear(), date.getMonth() - before).getTime()
  }
  const from = toTime(startOfMonth(monthsBefore))
  return monthsBefore === 0 ? { from } : { from, to: toTime(startOfMonth(monthsBefore - 1)) }
}

/** Returns the whole hours that a range is part of; nothing if it consists of them. */
export function toWholeHours(
  { since, until }: TimeRange,
  now = Date.now(),
): { readonly since: number; readonly until: number } | undefined {
  const [start, end] = [Date.parse(since), until === undefined ? now : Date.parse(until)]
  // A range up to now has the requests of the hour that has begun anyway.
  const isWhole = start % HOUR_MS === 0 && (until === undefined || end % HOUR_MS === 0)
  return isWhole ? undefined : { since: roundDown(start, HOUR_MS), until: roundUp(end, HOUR_MS) }
}

/** Returns the range of the same length before (-1) or after (1) a range. None is after now. */
export function shiftRange(
  { since, until }: TimeRange,
  direction: -1 | 1,
  now = Date.now(),
): RangeTexts | undefined {
  const start = Date.parse(since)
  const end = until === undefined ? roundUp(now, MINUTE_MS) : Date.parse(until)
  const shift = direction * (end - start)
  if (start + shift >= now) return undefined
  return { from: toTime(start + shift), to: toTime(end + shift) }
}

/** The value of a field for a date and time. */
export function toFieldValue(time: string, isUtc: boolean): string {
  const date = new Date(time)
  const offsetMs = isUtc ? 0 : date.getTimezoneOffset() * MINUTE_MS
  return new Date(date.getTime() - offsetMs).toISOString().slice(0, 16)
}

/** Undefined for a field without a time. */
export function fromFieldValue(value: string, isUtc: boolean): string | undefined {
  const time = Date.parse(isUtc ? `${value}Z` : value)
  return Number.isNaN(time) ? undefined : toTime(time)
}

function toTime(ms: number): string {
  return new Date(ms).toISOString().replace('.000Z', 'Z')
}
