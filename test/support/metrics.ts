/** One line of a scrape. */
export interface Sample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/** What a `/metrics` page says. */
export interface Scrape {
  /** Names as Prometheus knows them: of histograms with `_bucket`, `_sum` and `_count`. */
  readonly names: ReadonlySet<string>
  readonly samples: readonly Sample[]
  /** The sum of the samples of a name that have these labels. */
  sum(name: string, labels?: Readonly<Record<string, string>>): number
  /** Name and labels of every sample, as text. */
  readonly series: ReadonlySet<string>
}

export function readScrape(text: string): Scrape {
  const lines = text.split('\n')
  const samples = lines.flatMap(readSample)
  return {
    names: new Set(lines.flatMap(readNames)),
    samples,
    series: new Set(samples.map(({ name, labels }) => `${name} ${JSON.stringify(labels)}`)),
    sum: (name, labels = {}) =>
      samples
        .filter((sample) => sample.name === name)
        .filter((sample) => Object.entries(labels).every(([key, value]) => sample.labels[key] === value))
        .reduce((total, { value }) => total + value, 0),
  }
}

function readNames(line: string): string[] {
  const [, name = '', type] = /^# TYPE (\S+) (\S+)$/.exec(line) ?? []
  if (type === 'histogram') return ['_bucket', '_sum', '_count'].map((end) => name + end)
  return type === undefined ? [] : [name]
}

function readSample(line: string): Sample[] {
  const [, name, labels = '', value] = /^([a-z]\w*)(?:\{(.*)\})? (\S+)$/.exec(line) ?? []
  if (name === undefined) return []
  const pairs = [...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, key = '', text = '']) => [
    key,
    text,
  ])
  return [{ name, labels: Object.fromEntries(pairs), value: Number(value) }]
}
