import type { Kysely } from 'kysely'
import { listIds } from './list-records.ts'
import type { RequestQuery } from './queries.ts'
import type { LedgerEngine, LedgerTables } from './tables.ts'

/** What the requests that pass a filter have in common. */
export interface RequestFigures {
  readonly requests: number
  /** There are more requests: only the newest ones are part of the figures. */
  readonly isTruncated: boolean
  readonly errors: number
  /** Nano-dollars, without requests of unknown cost. */
  readonly cost: number
  readonly unknownCosts: number
  /** Milliseconds of the answered ones; null if there is none. */
  readonly latency: Percentiles | null
  readonly firstToken: Percentiles | null
}

export interface Percentiles {
  readonly p50: number
  readonly p90: number
  readonly p99: number
}

/** Rows that are read at once. */
const CHUNK = 1000

/** Returns the figures of the newest requests that pass the filter, up to a limit. */
export async function readFigures(
  db: Kysely<LedgerTables>,
  engine: LedgerEngine,
  { filter, limit }: Pick<RequestQuery, 'filter' | 'limit'>,
): Promise<RequestFigures> {
  const ids = await listIds(db, engine, { filter, limit: limit + 1 })
  const counted = ids.slice(0, limit)
  const latencies: number[] = []
  const firstTokens: number[] = []
  let [errors, cost, unknownCosts] = [0, 0, 0]
  for (let start = 0; start < counted.length; start += CHUNK) {
    const rows = await db
      .selectFrom('requests')
      .select(['error', 'cost', 'latency', 'first_token'])
      .where('id', 'in', counted.slice(start, start + CHUNK))
      .execute()
    for (const row of rows) {
      cost += row.cost ?? 0
      if (row.cost === null) unknownCosts += 1
      if (row.error !== null) errors += 1
      else {
        latencies.push(row.latency)
        if (row.first_token !== null) firstTokens.push(row.first_token)
      }
    }
  }
  return {
    ...{ requests: counted.length, isTruncated: ids.length > limit, errors, cost, unknownCosts },
    latency: findPercentiles(latencies),
    firstToken: findPercentiles(firstTokens),
  }
}

/** By the nearest rank: each is a value that has occurred. */
function findPercentiles(values: number[]): Percentiles | null {
  values.sort((a, b) => a - b)
  const at = (share: number) => values[Math.ceil(values.length * share) - 1] ?? 0
  return values.length === 0 ? null : { p50: at(0.5), p90: at(0.9), p99: at(0.99) }
}
