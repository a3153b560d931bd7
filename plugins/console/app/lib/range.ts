import { computed, effect } from '@preact/signals'
import { useMemo } from 'preact/hooks'
import { endpointUrl, get, type Query } from './api.ts'
import { type Resource, useInterval, useResource } from './data.ts'
import { formatTime, formatTimes, timeZone } from './format.ts'
import { pushQuery, route } from './router.ts'
import {
  DEFAULT_FROM,
  PRESETS,
  parseLength,
  type RangeTexts,
  resolveRange,
  type TimeRange,
} from './time-range.ts'

/** Whether times are shown in UTC, rather than in the zone of the viewer. */
export const isUtc = computed(() => route.value.query.get('zone') === 'utc')

effect(() => {
  timeZone.value = isUtc.value ? 'UTC' : undefined
})

function rangeTexts(): RangeTexts {
  const { query } = route.value
  return { from: query.get('from'), to: query.get('to') }
}

export function hasRange(): boolean {
  const { from } = rangeTexts()
  return from != null && (parseLength(from) !== undefined || !Number.isNaN(Date.parse(from)))
}

/** The range of the address. It stays the same while the page is open and the address is not changed. */
export function useRange(): TimeRange {
  const { from, to } = rangeTexts()
  return useMemo(() => resolveRange({ from, to }, isUtc.value), [from, to, isUtc.value])
}

/** The range of a list that has all of the past without one in the address. */
export function useOptionalRange(): Partial<TimeRange> {
  const range = useRange()
  return hasRange() ? range : {}
}

/** Another range for all pages. The browser can go back to the one before. */
export function setRange({ from, to }: RangeTexts): void {
  pushQuery({ from: from ?? undefined, to: to ?? undefined })
}

export function setTimes(sinceMs: number, untilMs: number): void {
  const [from, to] = [sinceMs, untilMs].map((ms) => new Date(ms).toISOString())
  const { since, until } = resolveRange({ from, to }, isUtc.value)
  setRange({ from: since, to: until })
}

/** The query of an address with the range between two times. */
export function toRangeQuery(sinceMs: number, untilMs: number): Query {
  return { from: new Date(sinceMs).toISOString(), to: new Date(untilMs).toISOString() }
}

/** Such as "Last 24 hours". */
export function describeRange(): string {
  const { from, to } = rangeTexts()
  const { since, until } = resolveRange({ from, to }, isUtc.value)
  const text = from ?? DEFAULT_FROM
  if (until !== undefined) return formatTimes(since, until)
  if (!Number.isNaN(Date.parse(text)) && hasRange()) return `Since ${formatTime(since)}`
  const known = PRESETS.find(([preset]) => preset === text)
  return known?.[1] ?? (parseLength(text) === undefined ? 'Last 24 hours' : `Last ${text}`)
}

/** Loads data of the range; again every `refreshMs`, if it ends with now. The data stays while it is read. */
export function useRangeData<Data>(path: string, query: Query = {}, refreshMs?: number): Resource<Data> {
  const { from, to } = rangeTexts()
  const key = endpointUrl(path, { ...query, from, to, zone: String(isUtc.value) })
  const resource = useResource(key, () =>
    get<Data>(path, { ...query, ...resolveRange({ from, to }, isUtc.value) }),
  )
  const isOpen = resolveRange({ from, to }, isUtc.value).until === undefined
  useInterval(isOpen ? refreshMs : undefined, resource.reload)
  return resource
}
