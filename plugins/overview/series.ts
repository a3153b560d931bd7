import { NANOS_PER_USD, roundUsd } from '../../core/prices/cost.ts'
import type { SeriesPoint } from '../ledger/index.ts'
import { DAY_MS, HOUR_MS } from '../ledger/index.ts'

export const RANGES = ['1h', '24h', '7d'] as const

export type Range = (typeof RANGES)[number]

const MINUTE_MS = 60_000

/** Lengths and steps, in milliseconds. */
const LENGTHS: Readonly<Record<Range, { readonly lengthMs: number; readonly stepMs: number }>> = {
  '1h': { lengthMs: HOUR_MS, stepMs: MINUTE_MS },
  '24h': { lengthMs: DAY_MS, stepMs: HOUR_MS },
  '7d': { lengthMs: 7 * DAY_MS, stepMs: HOUR_MS },
}

/** The whole steps of a range that ends with the current one. Unix times in milliseconds. */
export function stepsOf(range: Range, now: number) {
  const { lengthMs, stepMs } = LENGTHS[range]
  const until = (Math.floor(now / stepMs) + 1) * stepMs
  return { since: until - lengthMs, until, stepMs }
}

/** Returns all steps of a range, those without requests included. */
export function showSeries(
  points: readonly SeriesPoint[],
  { since, until, stepMs }: ReturnType<typeof stepsOf>,
) {
  const byTime = new Map(points.map((point) => [point.time, point]))
  const times = Array.from({ length: (until - since) / stepMs }, (_, index) => since + index * stepMs)
  return times.map((time) => {
    const point = byTime.get(time) ?? { ...NOTHING, time }
    return { time: new Date(time).toISOString(), ...showFigures([point]) }
  })
}

const NOTHING = { requests: 0, errors: 0, blocks: 0, masks: 0, cost: 0, latencies: [] }

/** Sums up steps. A latency of a sample counts for as many requests as it stands for. */
export function showFigures(points: readonly SeriesPoint[]) {
  const sum = (read: (point: SeriesPoint) => number) =>
    points.reduce((total, point) => total + read(point), 0)
  const weighted = points
    .flatMap(({ latencies, requests, errors }) =>
      latencies.map((ms) => ({ ms, weight: Math.max(1, requests - errors) / latencies.length })),
    )
    .sort((a, b) => a.ms - b.ms)
  return {
    requests: sum(({ requests }) => requests),
    errors: sum(({ errors }) => errors),
    blocks: sum(({ blocks }) => blocks),
    masks: sum(({ masks }) => masks),
    cost_usd: roundUsd(sum(({ cost }) => cost) / NANOS_PER_USD),
    latency_p50_ms: findPercentile(weighted, 0.5),
    latency_p95_ms: findPercentile(weighted, 0.95),
  }
}

/** `sorted` is ascending. Null without latencies. */
function findPercentile(
  sorted: readonly { readonly ms: number; readonly weight: number }[],
  share: number,
): number | null {
  const total = sorted.reduce((sum, { weight }) => sum + weight, 0)
  let reached = 0
  for (const { ms, weight } of sorted) {
    reached += weight
    if (reached >= total * share) return ms
  }
  return sorted.at(-1)?.ms ?? null
}
