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
export function createMetric<Series>(
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
