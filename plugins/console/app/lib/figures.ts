import type { Overview, OverviewFigures, RequestRecord } from './schemas.ts'

/** Sums up requests, as the gateway does in `GET /admin/overview`. */
function sumFigures(records: readonly RequestRecord[]): OverviewFigures {
  const count = (matches: (record: RequestRecord) => boolean) => records.filter(matches).length
  const has = (action: string) => (record: RequestRecord) =>
    record.rule_trace.some((entry) => entry.action === action && entry.outcome === 'applied')
  const latencies = records
    .filter(({ error }) => error == null)
    .map(({ latency_ms }) => latency_ms)
    .sort((a, b) => a - b)
  return {
    requests: records.length,
    errors: count(({ error }) => error != null),
    blocks: count(has('block')),
    masks: count(has('mask')),
    cost_usd: records.reduce((sum, { cost_usd }) => sum + (cost_usd ?? 0), 0),
    latency_p50_ms: percentile(latencies, 0.5),
    latency_p95_ms: percentile(latencies, 0.95),
  }
}

function percentile(sorted: readonly number[], share: number): number | null {
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? null
}

/** Returns the figures of the steps before `now`, and of all of them. */
export function toLiveFigures(
  records: readonly RequestRecord[],
  { now, stepMs, steps }: { readonly now: number; readonly stepMs: number; readonly steps: number },
): Pick<Overview, 'totals' | 'series'> {
  const end = Math.ceil(now / stepMs) * stepMs
  const start = end - steps * stepMs
  const parts: RequestRecord[][] = Array.from({ length: steps }, () => [])
  for (const record of records) parts[Math.floor((Date.parse(record.time) - start) / stepMs)]?.push(record)
  return {
    totals: sumFigures(parts.flat()),
    series: parts.map((part, index) => ({
      time: new Date(start + index * stepMs).toISOString(),
      ...sumFigures(part),
    })),
  }
}

/**
 * Returns the path of a line that is interrupted where there is no value. A value between two gaps is a dot:
 * a line of no length, of which only the round ends are drawn.
 */
export function toLinePath(
  values: readonly (number | null)[],
  x: (index: number) => number,
  y: (value: number) => number,
): string {
  return values
    .map((value, index) => {
      if (value === null) return ''
      const isFirst = (values[index - 1] ?? null) === null
      const isLast = (values[index + 1] ?? null) === null
      const point = `${isFirst ? 'M' : 'L'}${x(index).toFixed(1)} ${y(value).toFixed(1)}`
      return isFirst && isLast ? `${point}h0` : point
    })
    .join('')
}
