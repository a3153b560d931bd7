import type { Registry } from 'prom-client'
import { createMetric, type Description } from './metric.ts'

/** One series of a counter. */
export class CounterSeries {
  total = 0

  inc(by = 1): void {
    this.total += by
  }
}

/** A counter for the hot path: gives the series with these label values, in the order of the label names. */
export function createCounter(
  registry: Registry,
  description: Description,
): (...labels: readonly string[]) => CounterSeries {
  return createMetric(
    registry,
    'counter',
    description,
    () => new CounterSeries(),
    ({ total }, labels) => [{ labels, value: total }],
  )
}
