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
): Pick<Overview, 'since' | 'until' | 'step_seconds' | 'totals' | 'series'> {
  const end = Math.ceil(now / stepMs) * stepMs
  const start = end - steps * stepMs
  const parts: RequestRecord[][] = Array.from({ length: steps }, () => [])
  for (const record of records) parts[Math.floor((Date.parse(record.time) - start) / stepMs)]?.push(record)
  return {
    since: new Date(start).toISOString(),
    until: new Date(end).toISOString(),
    step_seconds: stepMs / 1000,
    totals: sumFigures(parts.flat()),
    series: parts.map((part, index) => ({
      time: new Date(start + index * stepMs).toISOString(),
      ...sumFigures(part),
    })),
  }
}
