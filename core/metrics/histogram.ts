import type { Registry } from 'prom-client'
import { createMetric, type Description, type Value } from './metric.ts'

/** One series of a histogram. */
export class HistogramSeries {
  readonly #bounds: readonly number[]
  /** By bucket; the last is for what is over every bound. */
  readonly counts: Float64Array
  sum = 0

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds
    this.counts = new Float64Array(bounds.length + 1)
  }

  observe(value: number): void {
    let bucket = 0
    while (bucket < this.#bounds.length && value > (this.#bounds[bucket] ?? 0)) bucket++
    this.counts[bucket] = (this.counts[bucket] ?? 0) + 1
    this.sum += value
  }
}

/** A histogram for the hot path: gives the series with these label values, in the order of the label names. Bounds ascend. */
export function createHistogram(
  registry: Registry,
  description: Description & { readonly buckets: readonly number[] },
): (...labels: readonly string[]) => HistogramSeries {
  const { name, buckets } = description
  return createMetric(
    registry,
    'histogram',
    description,
    () => new HistogramSeries(buckets),
    ({ counts, sum }, labels) => showSeries(name, buckets, counts, sum, labels),
  )
}

/** Every bucket counts what is in the ones before it, too. */
function showSeries(
  name: string,
  bounds: readonly number[],
  counts: Float64Array,
  sum: number,
  labels: Readonly<Record<string, string>>,
): Value[] {
  let total = 0
  const buckets = Array.from(counts, (count, bucket) => {
    total += count
    return { metricName: `${name}_bucket`, labels: { le: bounds[bucket] ?? '+Inf', ...labels }, value: total }
  })
  return [
    ...buckets,
    { metricName: `${name}_sum`, labels, value: sum },
    { metricName: `${name}_count`, labels, value: total },
  ]
}
