import { invalidParameterError } from '../../core/http/parse-call.ts'
import { NANOS_PER_USD, roundUsd } from '../../core/prices/cost.ts'
import type { SeriesPoint } from '../ledger/index.ts'
import { DAY_MS, HOUR_MS } from '../ledger/index.ts'

export const RANGES = ['1h', '24h', '7d'] as const

export type Range = (typeof RANGES)[number]

const MINUTE_MS = 60_000

const LENGTHS_MS: Readonly<Record<Range, number>> = { '1h': HOUR_MS, '24h': DAY_MS, '7d': 7 * DAY_MS }

/** The step of ranges up to a length: minutes are read from the requests, hours from sums. */
const STEPS: readonly (readonly [maxLengthMs: number, stepMs: number])[] = [
  [3 * HOUR_MS, MINUTE_MS],
  [6 * HOUR_MS, 5 * MINUTE_MS],
  [8 * DAY_MS, HOUR_MS],
  [21 * DAY_MS, 6 * HOUR_MS],
  [200 * DAY_MS, DAY_MS],
  [3653 * DAY_MS, 7 * DAY_MS],
]

/** Steps from a start on. Unix times in milliseconds; the last step may be shorter than the others. */
export interface Steps {
  readonly since: number
  /** Not part of the range. */
  readonly until: number
  readonly stepMs: number
}

function findStep(lengthMs: number): number | undefined {
  return STEPS.find(([maxLengthMs]) => lengthMs <= maxLengthMs)?.[1]
}

/** The whole steps of a range that ends with the current one. */
export function stepsOf(range: Range, now: number): Steps {
  const lengthMs = LENGTHS_MS[range]
  const stepMs = findStep(lengthMs) ?? HOUR_MS
  const until = (Math.floor(now / stepMs) + 1) * stepMs
  return { since: until - lengthMs, until, stepMs }
}

/**
 * The steps from one time to another, which are widened to whole minutes, or to whole hours if the steps are
 * hours or more. Throws 400 if there would be too many.
 */
export function stepsBetween(since: number, until: number): Steps {
  const stepMs = findStep(until - since)
  if (stepMs === undefined)
    throw invalidParameterError('since', 'since and until must be at most ten years apart.')
  const unit = stepMs < HOUR_MS ? MINUTE_MS : HOUR_MS
  const start = Math.floor(since / unit) * unit
  return { since: start, until: Math.max(start + unit, Math.ceil(until / unit) * unit), stepMs }
}

/** Returns all steps of a range, those without requests included. */
export function showSeries(points: readonly SeriesPoint[], { since, until, stepMs }: Steps) {
  const byTime = new Map(points.map((point) => [point.time, point]))
  const times = Array.from(
    { length: Math.ceil((until - since) / stepMs) },
    (_, index) => since + index * stepMs,
  )
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
    blocks: sumIfKnown(points, ({ blocks }) => blocks),
    masks: sumIfKnown(points, ({ masks }) => masks),
    cost_usd: roundUsd(sum(({ cost }) => cost) / NANOS_PER_USD),
    latency_p50_ms: findPercentile(weighted, 0.5),
    latency_p95_ms: findPercentile(weighted, 0.95),
  }
}

/** Null if a figure is not known of each step. */
function sumIfKnown(
  points: readonly SeriesPoint[],
  read: (point: SeriesPoint) => number | null,
): number | null {
  let total = 0
  for (const point of points) {
    const figure = read(point)
    if (figure === null) return null
    total += figure
  }
  return total
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
