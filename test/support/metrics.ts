import { expect } from 'chai'
import { AS_ADMIN, type RunningGateway } from './gateway.ts'
import { sendRequest } from './send-request.ts'
import { waitUntil } from './wait.ts'

/** One sample of a scrape. */
interface Sample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/** A parsed `/metrics` page. */
export interface Scrape {
  /** Names of samples: those of histograms end in `_bucket`, `_sum` or `_count`. */
  readonly names: ReadonlySet<string>
  readonly samples: readonly Sample[]
  /** The sum of the samples of a name that have these labels. */
  sum(name: string, labels?: Readonly<Record<string, string>>): number
  /** Name and labels of every sample as text. */
  readonly series: ReadonlySet<string>
}

/** Scrapes `/metrics` with the admin key. */
export function scrape(gateway: RunningGateway): Promise<Scrape> {
  return scrapePage(`${gateway.url}/metrics`, AS_ADMIN)
}

/** Scrapes a page of metrics. */
export async function scrapePage(url: string, headers: Record<string, string>): Promise<Scrape> {
  const response = await sendRequest(url, { method: 'GET', headers })
  expect(response.status).to.equal(200)
  expect(response.headers.get('content-type')).to.match(/^text\/plain; version=0\.0\.4/)
  return readScrape(response.text)
}

/** Scrapes until the condition holds: a request is counted slightly after the client has its response. */
export async function scrapeUntil(
  gateway: RunningGateway,
  holds: (metrics: Scrape) => boolean,
): Promise<Scrape> {
  return waitUntil(async () => {
    const metrics = await scrape(gateway)
    return holds(metrics) ? metrics : undefined
  }) as Promise<Scrape>
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
