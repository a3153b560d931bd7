import { signal } from '@preact/signals'

/** The zone that times are shown in; undefined for that of the viewer. */
export const timeZone = signal<'UTC' | undefined>(undefined)

const DATE_TIME = createTimeFormat({ dateStyle: 'medium', timeStyle: 'medium' })
const COUNT = new Intl.NumberFormat()
const COMPACT = new Intl.NumberFormat(undefined, { notation: 'compact', maximumFractionDigits: 1 })

const usdFormat = (digits: number) =>
  new Intl.NumberFormat(undefined, { minimumFractionDigits: 2, maximumFractionDigits: digits })
const [MICRO_USD, SMALL_USD, USD] = [usdFormat(6), usdFormat(4), usdFormat(2)]

export function formatTime(time: string | number): string {
  return DATE_TIME(time)
}

const TIMES = { dateStyle: 'medium', timeStyle: 'short' } as const

/** Such as "Mar 1, 2026, 4:00 – 5:00 PM". */
export function formatTimes(since: string | number, until: string | number): string {
  const format = new Intl.DateTimeFormat(undefined, { ...TIMES, timeZone: timeZone.value })
  return format.formatRange(new Date(since), new Date(until))
}

/** Returns a function that formats times in the zone of the page. */
export function createTimeFormat(options: Intl.DateTimeFormatOptions): (time: string | number) => string {
  const local = new Intl.DateTimeFormat(undefined, options)
  const utc = new Intl.DateTimeFormat(undefined, { ...options, timeZone: 'UTC' })
  return (time) => (timeZone.value === undefined ? local : utc).format(new Date(time))
}

export function formatUtc(time: string | number): string {
  return `${new Date(time).toISOString().replace('T', ' ').slice(0, 19)} UTC`
}

export function formatCount(count: number): string {
  return count < 100_000 ? COUNT.format(count) : COMPACT.format(count)
}

/** Such as "2.5 %"; empty if there is nothing to take a share of. */
export function formatShare(part: number, whole: number): string {
  return whole === 0 ? '' : `${Math.round((part / whole) * 1000) / 10} %`
}

export function formatUsd(usd: number | null | undefined): string {
  if (usd == null) return 'unknown'
  if (usd === 0) return '$0'
  return `$${(usd < 0.01 ? MICRO_USD : usd < 1 ? SMALL_USD : USD).format(usd)}`
}

/** Such as "480 ms", "2.35 s", "3 min 5 s" or "2 h 4 min". */
export function formatMs(ms: number | null | undefined): string {
  if (ms == null) return '–'
  const seconds = Math.round(ms / 1000)
  const minutes = Math.round(ms / 60_000)
  if (minutes >= 60) return `${Math.floor(minutes / 60)} h ${minutes % 60} min`
  if (seconds >= 120) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`
  return ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(ms < 10_000 ? 2 : 1)} s`
}

const STEPS: readonly [limit: number, unit: Intl.RelativeTimeFormatUnit, seconds: number][] = [
  [60, 'second', 1],
  [3600, 'minute', 60],
  [86_400, 'hour', 3600],
  [Number.POSITIVE_INFINITY, 'day', 86_400],
]

const RELATIVE = new Intl.RelativeTimeFormat(undefined, { numeric: 'auto' })

/** Such as "3 hours ago". */
export function formatAge(time: string | number, now = Date.now()): string {
  const seconds = (new Date(time).getTime() - now) / 1000
  const [, unit, size] = STEPS.find(([limit]) => Math.abs(seconds) < limit) ?? STEPS[3] ?? [0, 'day', 86_400]
  return RELATIVE.format(Math.round(seconds / size), unit)
}

/** Turns `plan_changed` and `planChanged` into "plan changed". */
export function humanize(text: string): string {
  return text
    .replaceAll('_', ' ')
    .replace(/[a-z](?=[A-Z])/g, '$& ')
    .toLowerCase()
}

/** Controls, characters without a form, those that change the direction of text, and blank letters. */
const HIDDEN = /[^\P{C}\n\t]|\p{Default_Ignorable_Code_Point}/gu

/** Writes characters that nobody would see as escapes, such as \u{200b}. */
export function showHidden(text: string): string {
  return text.replace(HIDDEN, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`)
}

const BYTE_UNITS = [
  [1000, 'kB'],
  [1_000_000, 'MB'],
] as const

/** Such as "12.5 kB". */
export function formatBytes(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`
  const [size, unit] = BYTE_UNITS.find(([size]) => bytes < size * 1000) ?? [1_000_000_000, 'GB']
  return `${(bytes / size).toFixed(1)} ${unit}`
}
