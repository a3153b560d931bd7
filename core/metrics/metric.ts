import type { MetricValue, Registry } from 'prom-client'

/** What a metric is called, and which labels its series have; last ones may be left out. */
export interface Description {
  readonly name: string
  readonly help: string
  readonly labelNames: readonly string[]
}

/** One line of a scrape, as prom-client takes it. */
export type Value = MetricValue<string> & { metricName?: string }

type Type = 'counter' | 'histogram'

/**
 * A metric's series by the values of their labels. prom-client looks the labels up at every step, which on the hot path costs more
 * than all else about a metric; here a series is looked up once and kept, and prom-client only shows it.
 */
export function createMetric<Series>(
  registry: Registry,
  type: Type,
  { name, help, labelNames }: Description,
  create: () => Series,
  show: (series: Series, labels: Readonly<Record<string, string>>) => readonly Value[],
): (...labels: readonly string[]) => Series {
  const known = new Map<
    string,
    { readonly labels: Readonly<Record<string, string>>; readonly series: Series }
  >()
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
      values: [...known.values()].flatMap(({ labels, series }) => show(series, labels)),
    }),
    reset: () => known.clear(),
  }
  // All that a registry asks of a metric is to be shown and reset; its type names prom-client's classes.
  registry.registerMetric(metric as unknown as Parameters<Registry['registerMetric']>[0])

  return (...values) => {
    let key = values[0] ?? ''
    for (let place = 1; place < values.length; place++) key += `\n${values[place]}`
    const found = known.get(key)
    if (found !== undefined) return found.series
    const labels = Object.fromEntries(values.map((value, place) => [labelNames[place] ?? '', value]))
    const series = create()
    known.set(key, { labels, series })
    return series
  }
}
