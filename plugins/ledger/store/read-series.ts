import { type Kysely, sql } from 'kysely'
import { findGroupSets, findLabel } from './find-records.ts'
import { joinSlots } from './list-records.ts'
import { readUsage } from './read-usage.ts'
import { firstIdAt, HOUR_MS, LEDGER_EPOCH_MS } from './record-id.ts'
import { hourOf } from './rows.ts'
import type { LedgerTables } from './tables.ts'
import { ANY_RULE } from './write-records.ts'

/** Unix times in milliseconds: whole minutes, or whole hours if the step has an hour or more. */
export interface SeriesQuery {
  readonly since: number
  /** Not part of the range. */
  readonly until: number
  /** Length of the steps, which begin at `since`; the last one may be shorter. */
  readonly stepMs: number
  /** As in `RequestFilter`. */
  readonly anyGroup?: readonly number[]
}

/** A query with the sets of its groups; undefined for all requests. */
interface ResolvedQuery extends SeriesQuery {
  readonly groupSets: readonly number[] | undefined
}

/** The requests of one step. */
export interface SeriesPoint {
  /** Start of the step, as a Unix time in milliseconds. */
  readonly time: number
  readonly requests: number
  readonly errors: number
  /** Requests that a firewall rule blocked, or masked. Null where requests are no longer recorded. */
  readonly blocks: number | null
  readonly masks: number | null
  /** Nano-dollars. */
  readonly cost: number
  /** Latencies of a sample of the answered requests in milliseconds, ascending. */
  readonly latencies: readonly number[]
}

/** The sample of a step: some requests after each of several points in time, which need no scan. */
const SAMPLE_POINTS = 4
const SAMPLE_ROWS = 50

/**
 * Returns the steps with requests, in order. Hours are read from the sums by hour, minutes from the requests
 * themselves. See docs/decisions/ledger.md, "Latencies of a graph are those of a sample".
 */
export async function readSeries(
  db: Kysely<LedgerTables>,
  asked: SeriesQuery,
): Promise<readonly SeriesPoint[]> {
  const groupSets = await findGroupSets(db, asked)
  if (groupSets?.length === 0) return []
  const query = { ...asked, groupSets }
  const counts = query.stepMs >= HOUR_MS ? await countByHour(db, query) : await countByStep(db, query)
  const [blocks, masks] = await Promise.all([countAction(db, query, 'block'), countAction(db, query, 'mask')])
  const points: SeriesPoint[] = []
  for (const { isRecorded, time, ...point } of counts) {
    const latencies = await sampleLatencies(db, time, query)
    const countOf = (hits: ReadonlyMap<number, number>) => (isRecorded ? (hits.get(time) ?? 0) : null)
    points.push({ time, ...point, blocks: countOf(blocks), masks: countOf(masks), latencies })
  }
  return points
}

interface StepCounts extends Pick<SeriesPoint, 'time' | 'requests' | 'errors' | 'cost'> {
  /** Sums are kept for longer than the requests. */
  readonly isRecorded: boolean
}

async function countByHour(
  db: Kysely<LedgerTables>,
  { since, until, stepMs, anyGroup }: SeriesQuery,
): Promise<readonly StepCounts[]> {
  const range = {
    since: Math.floor(since / HOUR_MS),
    until: Math.ceil(until / HOUR_MS),
    ...(anyGroup && { anyGroup }),
  }
  const hours = await readUsage(db, { groupBy: ['hour'], ...range, limit: range.until - range.since })
  const oldestHour = await findOldestHour(db)
  const steps = new Map<number, StepCounts>()
  for (const { hour = 0, requests, errors, cost } of hours) {
    const time = since + Math.floor((hour * HOUR_MS - since) / stepMs) * stepMs
    const step = steps.get(time) ?? { time, requests: 0, errors: 0, cost: 0, isRecorded: true }
    steps.set(time, {
      time,
      requests: step.requests + requests,
      errors: step.errors + errors,
      cost: step.cost + cost,
      isRecorded: step.isRecorded && hour >= oldestHour,
    })
  }
  return [...steps.values()]
}

/** Returns the hour of the oldest request that is recorded: whole days are deleted. */
async function findOldestHour(db: Kysely<LedgerTables>): Promise<number> {
  const oldest = await db.selectFrom('requests').select('id').orderBy('id').limit(1).executeTakeFirst()
  return oldest === undefined ? Number.POSITIVE_INFINITY : hourOf(oldest)
}

async function countByStep(db: Kysely<LedgerTables>, query: ResolvedQuery): Promise<readonly StepCounts[]> {
  const step = stepOf('id', query)
  const rows = await selectOfGroups(db, query)
    .where('id', '>=', firstIdAt(query.since))
    .where('id', '<', firstIdAt(query.until))
    .where('shadow_of', 'is', null)
    .select([
      step.as('step'),
      sql<number>`count(*)`.as('requests'),
      sql<number>`count(error)`.as('errors'),
      sql<number>`cast(coalesce(sum(cost), 0) as bigint)`.as('cost'),
    ])
    .groupBy(step)
    .orderBy('step')
    .execute()
  return rows.map(({ step, requests, errors, cost }) => ({
    time: timeOfStep(Number(step), query),
    requests: Number(requests),
    errors: Number(errors),
    cost: Number(cost),
    isRecorded: true,
  }))
}

/** Returns the number of requests to which firewall rules applied an action, by the start of their step. */
async function countAction(
  db: Kysely<LedgerTables>,
  query: ResolvedQuery,
  action: 'block' | 'mask',
): Promise<ReadonlyMap<number, number>> {
  const { since, until, groupSets } = query
  const label = await findLabel(db, action)
  if (label === undefined) return new Map()
  const [from, below] = [firstIdAt(since), firstIdAt(until)]
  const start = stepOf('requests.id', query)
  let hits = joinSlots(db, { from, below })
    .where('slots.kind', '=', label)
    .where('slots.rule_id', '=', ANY_RULE)
  if (groupSets) hits = hits.where('requests.group_set', 'in', groupSets)
  const rows = await hits
    .select([start.as('step'), sql<number>`count(*)`.as('requests')])
    .groupBy(start)
    .execute()
  return new Map(rows.map(({ step, requests }) => [timeOfStep(Number(step), query), Number(requests)]))
}

function selectOfGroups(db: Kysely<LedgerTables>, { groupSets }: ResolvedQuery) {
  const requests = db.selectFrom('requests')
  return groupSets ? requests.where('group_set', 'in', groupSets) : requests
}

/** Ids begin with the time, and both engines divide integers to integers. */
function stepOf(column: 'id' | 'requests.id', { since, stepMs }: SeriesQuery) {
  const idsPerStep = firstIdAt(LEDGER_EPOCH_MS + stepMs)
  return sql<number>`(${sql.ref(column)} - ${sql.lit(firstIdAt(since))}) / ${sql.lit(idsPerStep)}`
}

function timeOfStep(step: number, { since, stepMs }: SeriesQuery): number {
  return since + step * stepMs
}

async function sampleLatencies(
  db: Kysely<LedgerTables>,
  time: number,
  query: ResolvedQuery,
): Promise<readonly number[]> {
  const stepMs = Math.min(query.stepMs, query.until - time)
  const end = firstIdAt(time + stepMs)
  const parts = await Promise.all(
    Array.from({ length: SAMPLE_POINTS }, (_, index) => {
      const from = firstIdAt(time + (stepMs * index) / SAMPLE_POINTS)
      const to = index === SAMPLE_POINTS - 1 ? end : firstIdAt(time + (stepMs * (index + 1)) / SAMPLE_POINTS)
      return selectOfGroups(db, query)
        .select(['latency', 'error'])
        .where('id', '>=', from)
        .where('id', '<', to)
        .where('shadow_of', 'is', null)
        .orderBy('id')
        .limit(SAMPLE_ROWS)
        .execute()
    }),
  )
  const answered = parts.flat().filter(({ error }) => error === null)
  return answered.map(({ latency }) => latency).sort((a, b) => a - b)
}
