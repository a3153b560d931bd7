import type { PlotSeries } from './plot-data.ts'
import type { Usage } from './schemas.ts'
import { DAY_MS, HOUR_MS } from './time-range.ts'

/** What a graph of usage counts. */
export const USAGE_MEASURES = ['requests', 'cost', 'tokens'] as const

export type UsageMeasure = (typeof USAGE_MEASURES)[number]

export function measureUsage({ requests, cost_usd, tokens }: Usage, measure: UsageMeasure): number {
  if (measure === 'requests') return requests
  return measure === 'cost' ? cost_usd : tokens.input + tokens.output
}

/** Longer ranges are read by day, and the longest ones shown by week. */
const MAX_BY_HOUR_MS = 8 * DAY_MS
const MAX_BY_DAY_MS = 200 * DAY_MS

/** The steps of a graph. Days are those of UTC, by which the gateway sums up. */
export interface UsageSteps {
  readonly dimension: 'hour' | 'day'
  readonly stepMs: number
  readonly times: readonly number[]
  readonly until: number
}

export function toUsageSteps(sinceMs: number, untilMs: number): UsageSteps {
  const length = untilMs - sinceMs
  const isByHour = length <= MAX_BY_HOUR_MS
  const unitMs = isByHour ? HOUR_MS : DAY_MS
  const stepMs = isByHour ? HOUR_MS : length <= MAX_BY_DAY_MS ? DAY_MS : 7 * DAY_MS
  const start = Math.floor(sinceMs / unitMs) * unitMs
  const until = Math.ceil(untilMs / unitMs) * unitMs
  const times = Array.from(
    { length: Math.ceil((until - start) / stepMs) },
    (_, index) => start + index * stepMs,
  )
  return { dimension: isByHour ? 'hour' : 'day', stepMs, times, until }
}

/** A group of usage that has a series of its own. */
export interface UsageSeriesGroup {
  readonly key: string
  readonly name: string
}

/**
 * Returns the series of some groups, and of the other ones together if the groups add up. Where a group has
 * nothing, those that do not add up have a gap.
 */
export function toUsageSeries(
  rows: readonly Usage[],
  steps: UsageSteps,
  options: {
    readonly groups: readonly UsageSeriesGroup[]
    readonly keyOf: (row: Usage) => string
    readonly measure: UsageMeasure
    readonly addsUp: boolean
  },
): readonly PlotSeries[] {
  const { groups, keyOf, measure, addsUp } = options
  const empty = addsUp ? 0 : null
  const valuesOf = () => steps.times.map((): number | null => empty)
  const series = new Map(groups.map(({ key }) => [key, valuesOf()]))
  const others = valuesOf()
  let hasOthers = false
  for (const row of rows) {
    const time = Date.parse(row.hour ?? row.day ?? '')
    const index = Math.floor((time - (steps.times[0] ?? 0)) / steps.stepMs)
    const values = series.get(keyOf(row)) ?? others
    if (values === others) hasOthers = true
    if (index in values) values[index] = (values[index] ?? 0) + measureUsage(row, measure)
  }
  const shown = groups.map(({ key, name }, at) => ({
    name,
    tone: `tone-${at + 1}`,
    values: series.get(key) ?? [],
  }))
  if (!hasOthers || !addsUp) return shown
  return [
    ...shown,
    {
      name: groups.length === 0 ? 'All' : 'Others',
      tone: groups.length === 0 ? 'tone-1' : 'tone-others',
      values: others,
    },
  ]
}
