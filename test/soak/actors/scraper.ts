import { ADMIN_KEY } from '../../support/gateway.ts'
import { readScrape } from '../../support/metrics.ts'
import { type Addresses, createClient } from '../client.ts'
import { must, mustBe } from '../expect.ts'
import type { Actor } from './actor.ts'

export interface Scraper extends Actor {
  /** The counters of the last scrape. */
  series(): number
}

/**
 * Scrapes the metrics like Prometheus. Counters must not decrease while the process is the same.
 */
export function createScraper(addresses: Addresses, workers: number): Scraper {
  let client = createClient(addresses)
  let before = 0
  let series = 0
  return {
    name: 'metrics',
    everyMs: 2000,
    ledgers: [],
    series: () => series,
    async act() {
      const got = await client.ask({ path: '/metrics', key: ADMIN_KEY })
      mustBe(got, 200)
      const scrape = readScrape(got.text)
      const total = scrape.sum('signalbox_http_requests_total')
      must(
        total >= before || workers > 1,
        () => `signalbox_http_requests_total fell from ${before} to ${total}`,
      )
      before = total
      series = scrape.series.size
      return 'scraped'
    },
    async settle(next) {
      await client.close()
      client = createClient(next)
      before = 0
    },
    close: () => client.close(),
  }
}
