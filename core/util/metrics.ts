import type { MetricValue, Registry } from 'prom-client'

/** Metrics for the hot path: prom-client exposes them, but their series are stored and updated here. */

interface MetricDescription {
  readonly name: string
  readonly help: string
  /** Series may omit the last labels. */
  readonly labelNames: readonly string[]
}

/** One series of a counter. */
export class CounterSeries {
  total = 0

  inc(by = 1): void {
    this.total += by
  }
}

/**
 * Registers a counter. Returns a function from label values, in the order of `labelNames`, to the series. See
 * docs/decisions/plugins.md, "Hot-path metrics are counted by our own counters and exposed by prom-client".
 */
export function createCounter(
  registry: Registry,
  description: MetricDescription,
): (...labels: readonly string[]) => CounterSeries {
  return createMetric(
    registry,
    'counter',
    description,
    () => new CounterSeries(),
    ({ total }, labels) => [{ labels, value: total }],
  )
}

/**
 * Registers a counter of outcomes by kind. All its series exist from the start, so that rates have no gaps.
 * Returns a function that counts one outcome.
 */
export function createOutcomeCounter<Kind extends string, Outcome extends string>(
  registry: Registry,
  description: Omit<MetricDescription, 'labelNames'>,
  label: string,
  kinds: readonly Kind[],
  outcomes: readonly Outcome[],
): (kind: Kind, outcome: Outcome) => void {
  const counter = createCounter(registry, { ...description, labelNames: [label, 'outcome'] })
  for (const kind of kinds) for (const outcome of outcomes) counter(kind, outcome)
  return (kind, outcome) => counter(kind, outcome).inc()
}

/** One series of a histogram. */
class HistogramSeries {
  readonly #bounds: readonly number[]
  /** Observations by bucket, not cumulative. The last bucket counts values above all bounds. */
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

/**
 * Registers a histogram. `buckets` are upper bounds in ascending order. Returns a function from label values,
 * in the order of `labelNames`, to the series.
 */
export function createHistogram(
  registry: Registry,
  description: MetricDescription & { readonly buckets: readonly number[] },
): (...labels: readonly string[]) => HistogramSeries {
  const { name, buckets } = description
  return createMetric(
    registry,
    'histogram',
    description,
    () => new HistogramSeries(buckets),
    (series, labels) => toHistogramSamples(name, buckets, series, labels),
  )
}

type Labels = Readonly<Record<string, string>>

/** One line of a scrape, in prom-client's form. */
type Sample = MetricValue<string> & { metricName?: string }

/** Converts a series to the cumulative buckets of the exposition format. */
function toHistogramSamples(
  name: string,
  bounds: readonly number[],
  { counts, sum }: HistogramSeries,
  labels: Labels,
): Sample[] {
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

/** A node of the tree of series: one level per label. Finding a series builds no key. */
interface SeriesNode<Series> {
  readonly children: Map<string, SeriesNode<Series>>
  series?: Series
}

/**
 * Registers a metric with its own storage of series. prom-client looks up the labels on every update, which
 * costs more than the rest of the update; here callers look up a series once and keep it.
 */
function createMetric<Series>(
  registry: Registry,
  type: 'counter' | 'histogram',
  { name, help, labelNames }: MetricDescription,
  createSeries: () => Series,
  toSamples: (series: Series, labels: Labels) => readonly Sample[],
): (...labels: readonly string[]) => Series {
  const root: SeriesNode<Series> = { children: new Map() }
  const allSeries: { readonly labels: Labels; readonly series: Series }[] = []
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
      values: allSeries.flatMap(({ labels, series }) => toSamples(series, labels)),
    }),
    reset() {
      root.children.clear()
      allSeries.length = 0
    },
  }
  // A registry only calls `get` and `reset`, but its type requires prom-client's own classes.
  registry.registerMetric(metric as unknown as Parameters<Registry['registerMetric']>[0])

  function addSeries(values: readonly string[]): Series {
    const labels = Object.fromEntries(values.map((value, index) => [labelNames[index] ?? '', value]))
    const series = createSeries()
    allSeries.push({ labels, series })
    return series
  }

  return (...values) => {
    let node = root
    for (const value of values) {
      let child = node.children.get(value)
      if (child === undefined) {
        child = { children: new Map() }
        node.children.set(value, child)
      }
      node = child
    }
    node.series ??= addSeries(values)
    return node.series
  }
}
