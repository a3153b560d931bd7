import type { MetricValue, Registry } from 'prom-client'

/** What a metric is called, and which labels its series have; last ones may be left out. */
interface Description {
  readonly name: string
  readonly help: string
  readonly labelNames: readonly string[]
}

/** One line of a scrape, as prom-client takes it. */
type Value = MetricValue<string> & { metricName?: string }

type Type = 'counter' | 'histogram'

interface Labelled<Series> {
  readonly labels: Readonly<Record<string, string>>
  readonly series: Series
}

/** On the way to a series, one for each of its labels: nothing is put together to find it. */
interface Step<Series> {
  readonly next: Map<string, Step<Series>>
  series?: Series
}

/**
 * A metric's series by the values of their labels. prom-client looks the labels up at every step, which on the hot path costs more
 * than all else about a metric; here a series is looked up once and kept, and prom-client only shows it.
 */
function createMetric<Series>(
  registry: Registry,
  type: Type,
  { name, help, labelNames }: Description,
  create: () => Series,
  show: (series: Series, labels: Readonly<Record<string, string>>) => readonly Value[],
): (...labels: readonly string[]) => Series {
  const first: Step<Series> = { next: new Map() }
  const all: Labelled<Series>[] = []
  const metric = {
    name,
    help,
    type,
    aggregator: 'sum',
    get: async () => ({
      name,
      help,
      type,
      aggregator: 'sum',
      values: all.flatMap(({ labels, series }) => show(series, labels)),
    }),
    reset() {
      first.next.clear()
      all.length = 0
    },
  }
  // All that a registry asks of a metric is to be shown and reset; its type names prom-client's classes.
  registry.registerMetric(metric as unknown as Parameters<Registry['registerMetric']>[0])

  function add(values: readonly string[]): Series {
    const labels = Object.fromEntries(values.map((value, place) => [labelNames[place] ?? '', value]))
    const series = create()
    all.push({ labels, series })
    return series
  }

  return (...values) => {
    let step = first
    for (const value of values) {
      let next = step.next.get(value)
      if (next === undefined) {
        next = { next: new Map() }
        step.next.set(value, next)
      }
      step = next
    }
    step.series ??= add(values)
    return step.series
  }
}

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

/** One series of a histogram. */
class HistogramSeries {
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
