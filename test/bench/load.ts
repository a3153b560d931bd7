import autocannon from 'autocannon'
import { Pool } from 'undici'

export interface Aim {
  readonly url: string
  readonly key: string
  readonly body: string
  readonly connections: number
  readonly seconds: number
}

/** What a load came to. Times in milliseconds. */
export interface Load {
  readonly perSecond: number
  readonly p50: number
  readonly p95: number
  readonly p99: number
  readonly requests: number
  readonly failures: number
}

/** Whole answers as fast as they come, for some seconds. */
export async function loadWhole({ url, key, body, connections, seconds }: Aim): Promise<Load> {
  const result = await autocannon({
    url,
    connections,
    duration: seconds,
    method: 'POST',
    body,
    headers: headersOf(key),
  })
  const { p50, p97_5, p99 } = result.latency
  return {
    perSecond: result.requests.total / result.duration,
    p50,
    p95: p97_5,
    p99,
    requests: result.requests.total,
    failures: result.non2xx + result.errors,
  }
}

/** Streams as fast as they come; `perSecond` counts records, the times are those to the first byte. */
export async function loadStreams({ url, key, body, connections, seconds }: Aim): Promise<Load> {
  const { origin, pathname } = new URL(url)
  const pool = new Pool(origin, { connections })
  const end = performance.now() + seconds * 1000
  const first: number[] = []
  let records = 0
  let failures = 0

  async function client(): Promise<void> {
    while (performance.now() < end) {
      const begun = performance.now()
      const { statusCode, body: stream } = await pool.request({
        method: 'POST',
        path: pathname,
        headers: headersOf(key),
        body,
      })
      let seen = false
      for await (const bytes of stream as AsyncIterable<Buffer>) {
        if (!seen) first.push(performance.now() - begun)
        seen = true
        records += countRecords(bytes)
      }
      if (statusCode !== 200) failures++
    }
  }

  const begun = performance.now()
  await Promise.all(Array.from({ length: connections }, client))
  const elapsed = (performance.now() - begun) / 1000
  await pool.close()
  first.sort((a, b) => a - b)
  const at = (share: number) => first[Math.floor(first.length * share)] ?? 0
  return {
    perSecond: records / elapsed,
    p50: at(0.5),
    p95: at(0.95),
    p99: at(0.99),
    requests: first.length,
    failures,
  }
}

function headersOf(key: string): Record<string, string> {
  return { 'content-type': 'application/json', authorization: `Bearer ${key}` }
}

/** Records end with an empty line: two newlines in a row. */
function countRecords(bytes: Buffer): number {
  let count = 0
  for (let at = bytes.indexOf('\n\n'); at !== -1; at = bytes.indexOf('\n\n', at + 2)) count++
  return count
}
