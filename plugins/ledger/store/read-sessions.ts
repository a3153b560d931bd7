import { type Kysely, type RawBuilder, type SelectQueryBuilder, sql } from 'kysely'
import { findGroupSets, readRecords } from './find-records.ts'
import type { StoredRecord } from './queries.ts'
import { timeOfRecordId } from './record-id.ts'
import type { LedgerTables } from './tables.ts'
import { isOfGroup, type StoredToolCall, toStoredToolCall } from './tool-calls.ts'

/** A session of a user. */
interface SessionKey {
  readonly userId: number
  readonly session: string
}

/** Where a page of sessions ended. */
export interface SessionPosition extends SessionKey {
  /** Unix time in milliseconds. */
  readonly lastSeen: number
}

export interface SessionQuery {
  readonly session?: string
  readonly userId?: number
  /** As in `RequestFilter`. Only what happened while the user was in one of them is counted. */
  readonly anyGroup?: readonly number[]
  /** Unix times in milliseconds: something happened at or after `since`, and before `until`. */
  readonly since?: number
  readonly until?: number
  readonly before?: SessionPosition
  readonly limit: number
}

export interface StoredSession extends SessionKey {
  /** Unix times in milliseconds. */
  readonly startedAt: number
  readonly lastActiveAt: number
  readonly requests: number
  /** Requests without an answer, and those of them that a rule refused. */
  readonly failed: number
  readonly blocked: number
  readonly toolCalls: number
  /** Calls that a rule, the firewall or a missing approval of the definition refused. */
  readonly refusedToolCalls: number
  readonly tokens: {
    readonly input: number
    readonly cached: number
    readonly cacheWrite: number
    readonly output: number
    readonly reasoning: number
  }
  /** Nano-dollars. */
  readonly cost: number
  readonly unknownCosts: number
}

/** The one that was active last is first. */
export interface SessionPage {
  readonly sessions: readonly StoredSession[]
  /** Undefined on the last page. */
  readonly next?: SessionPosition
}

/** Verdicts of calls that were refused. */
const REFUSED = ['denied', 'hidden', 'blocked', 'not_served'] as const

export async function listSessions(
  db: Kysely<LedgerTables>,
  { session, userId, anyGroup, since, until, before, limit }: SessionQuery,
): Promise<SessionPage> {
  const scope = await findScope(db, anyGroup)
  if (scope?.groups.length === 0) return { sessions: [] }
  let query = db.selectFrom('sessions').selectAll()
  if (session !== undefined) query = query.where('session', '=', session)
  if (userId !== undefined) query = query.where('user_id', '=', userId)
  if (since !== undefined) query = query.where('last_seen', '>=', since)
  if (until !== undefined) query = query.where('first_seen', '<', until)
  if (before !== undefined)
    query = query.where(({ eb, refTuple, tuple }) =>
      eb(
        refTuple('last_seen', 'user_id', 'session'),
        '<',
        tuple(before.lastSeen, before.userId, before.session),
      ),
    )
  if (scope !== undefined)
    query = query.where(({ or, exists, selectFrom }) =>
      or([
        exists(
          inScope(selectFrom('requests').select('requests.id'), scope)
            .where('requests.session', '=', sql.ref<string>('sessions.session'))
            .where('requests.user_id', '=', sql.ref<number>('sessions.user_id'))
            .where('requests.shadow_of', 'is', null),
        ),
        exists(
          selectFrom('tool_calls')
            .select('tool_calls.id')
            .whereRef('tool_calls.session', '=', 'sessions.session')
            .whereRef('tool_calls.user_id', '=', 'sessions.user_id')
            .where(isOfGroup(scope.groups)),
        ),
      ]),
    )
  const rows = await query
    .orderBy('last_seen', 'desc')
    .orderBy('user_id', 'desc')
    .orderBy('session', 'desc')
    .limit(limit + 1)
    .execute()
  const page = rows.slice(0, limit)
  const last = rows.length > limit ? page.at(-1) : undefined
  return {
    sessions: await sumUp(db, page, scope),
    ...(last !== undefined && {
      next: { lastSeen: last.last_seen, userId: last.user_id, session: last.session },
    }),
  }
}

/** The groups of an operator, and the sets of groups that have one of them. */
interface Scope {
  readonly groups: readonly number[]
  readonly sets: readonly number[]
}

async function findScope(
  db: Kysely<LedgerTables>,
  groups: readonly number[] | undefined,
): Promise<Scope | undefined> {
  if (groups === undefined) return undefined
  return { groups, sets: (await findGroupSets(db, { anyGroup: groups })) ?? [] }
}

type RequestSelection<Row> = SelectQueryBuilder<LedgerTables, 'requests', Row>

function inScope<Row>(query: RequestSelection<Row>, scope: Scope | undefined): RequestSelection<Row> {
  if (scope === undefined) return query
  // No set has the id 0. An expression, so that the index of sessions is used, and not that of groups.
  const set = sql<number>`${sql.ref('requests.group_set')} + 0`
  return query.where(set, 'in', scope.sets.length > 0 ? scope.sets : [0])
}

const keyOf = (userId: number, session: string | null) => `${userId} ${session}`

const sum = (value: RawBuilder<unknown> | string) =>
  sql<number>`cast(coalesce(sum(${typeof value === 'string' ? sql.ref(value) : value}), 0) as bigint)`
const countIf = (condition: RawBuilder<unknown>) => sum(sql`case when ${condition} then 1 else 0 end`)

/** Sums up what happened in sessions, from the rows themselves. */
async function sumUp(
  db: Kysely<LedgerTables>,
  rows: readonly LedgerTables['sessions'][],
  scope: Scope | undefined,
): Promise<readonly StoredSession[]> {
  if (rows.length === 0) return []
  const sessions = [...new Set(rows.map(({ session }) => session))]
  const users = [...new Set(rows.map(({ user_id }) => user_id))]
  const requests = await inScope(db.selectFrom('requests'), scope)
    .leftJoin('errors', 'errors.id', 'requests.error')
    .where('requests.session', 'in', sessions)
    .where('requests.user_id', 'in', users)
    .where('requests.shadow_of', 'is', null)
    .groupBy(['requests.user_id', 'requests.session'])
    .select(['requests.user_id', 'requests.session'])
    .select(({ fn }) => [fn.min('requests.id').as('first'), fn.max('requests.id').as('last')])
    .select([
      sum(sql`1`).as('requests'),
      countIf(sql`${sql.ref('requests.error')} is not null`).as('failed'),
      countIf(sql`${sql.ref('errors.rule_id')} is not null`).as('blocked'),
      sum('requests.input').as('input'),
      sum('requests.cached').as('cached'),
      sum('requests.cache_write').as('cacheWrite'),
      sum('requests.output').as('output'),
      sum('requests.reasoning').as('reasoning'),
      sum('requests.cost').as('cost'),
      countIf(sql`${sql.ref('requests.cost')} is null`).as('unknownCosts'),
    ])
    .execute()
  let calls = db
    .selectFrom('tool_calls')
    .where('session', 'in', sessions)
    .where('user_id', 'in', users)
    .groupBy(['user_id', 'session'])
    .select(['user_id', 'session'])
    .select(({ fn }) => [fn.min('time').as('first'), fn.max('time').as('last')])
    .select([
      sum(sql`1`).as('toolCalls'),
      countIf(sql`${sql.ref('verdict')} in (${sql.join([...REFUSED])})`).as('refused'),
    ])
  if (scope !== undefined) calls = calls.where(isOfGroup(scope.groups))
  const ofRequests = new Map(requests.map((row) => [keyOf(row.user_id, row.session), row]))
  const ofCalls = new Map((await calls.execute()).map((row) => [keyOf(row.user_id, row.session), row]))
  return rows.flatMap(({ user_id, session }) => {
    const key = keyOf(user_id, session)
    const [request, call] = [ofRequests.get(key), ofCalls.get(key)]
    const times = [
      ...(request ? [request.first, request.last].map(timeOfRecordId) : []),
      ...(call ? [call.first, call.last] : []),
    ]
    // What happened may have been deleted in the meantime.
    if (times.length === 0) return []
    return {
      userId: user_id,
      session,
      startedAt: Math.min(...times),
      lastActiveAt: Math.max(...times),
      requests: request?.requests ?? 0,
      failed: request?.failed ?? 0,
      blocked: request?.blocked ?? 0,
      toolCalls: call?.toolCalls ?? 0,
      refusedToolCalls: call?.refused ?? 0,
      tokens: {
        input: request?.input ?? 0,
        cached: request?.cached ?? 0,
        cacheWrite: request?.cacheWrite ?? 0,
        output: request?.output ?? 0,
        reasoning: request?.reasoning ?? 0,
      },
      cost: request?.cost ?? 0,
      unknownCosts: request?.unknownCosts ?? 0,
    }
  })
}

/** Where a page of steps ended: the last request and the last call that are on it or before it. */
export interface StepPosition {
  readonly request: number
  /** Unix time in milliseconds. */
  readonly callTime: number
  readonly call: number
}

export interface StepQuery extends SessionKey {
  readonly anyGroup?: readonly number[]
  readonly after?: StepPosition
  readonly limit: number
}

export type SessionStep =
  | { readonly kind: 'request'; readonly time: number; readonly record: StoredRecord }
  | { readonly kind: 'tool_call'; readonly time: number; readonly call: StoredToolCall }

/** Oldest first. */
export interface StepPage {
  readonly steps: readonly SessionStep[]
  /** Undefined on the last page. */
  readonly next?: StepPosition
}

const START: StepPosition = { request: 0, callTime: 0, call: 0 }

export async function listSteps(
  db: Kysely<LedgerTables>,
  { session, userId, anyGroup, after = START, limit }: StepQuery,
): Promise<StepPage> {
  const scope = await findScope(db, anyGroup)
  if (scope?.groups.length === 0) return { steps: [] }
  const ids = await inScope(db.selectFrom('requests').select('requests.id'), scope)
    .where('requests.session', '=', session)
    .where('requests.user_id', '=', userId)
    .where('requests.shadow_of', 'is', null)
    .where('requests.id', '>', after.request)
    .orderBy('requests.id')
    .limit(limit + 1)
    .execute()
  let calls = db
    .selectFrom('tool_calls')
    .selectAll()
    .where('session', '=', session)
    .where('user_id', '=', userId)
    .where(({ eb, refTuple, tuple }) => eb(refTuple('time', 'id'), '>', tuple(after.callTime, after.call)))
    .orderBy('time')
    .orderBy('id')
    .limit(limit + 1)
  if (scope !== undefined) calls = calls.where(isOfGroup(scope.groups))
  const found = [
    ...ids.map(({ id }) => ({ time: timeOfRecordId(id), id, row: undefined })),
    ...(await calls.execute()).map((row) => ({ time: row.time, id: row.id, row })),
  ]
  // Requests of a millisecond come before its calls.
  found.sort((a, b) => a.time - b.time || Number(a.row !== undefined) - Number(b.row !== undefined))
  const page = found.slice(0, limit)
  const shown = page.flatMap(({ id, row }) => (row === undefined ? [id] : []))
  const records = new Map((await readRecords(db, shown)).map((record) => [record.id, record]))
  const steps = page.flatMap(({ time, id, row }): SessionStep[] => {
    if (row !== undefined) return [{ kind: 'tool_call', time, call: toStoredToolCall(row) }]
    const record = records.get(id)
    return record === undefined ? [] : [{ kind: 'request', time, record }]
  })
  if (found.length <= limit) return { steps }
  const lastCall = page.findLast(({ row }) => row !== undefined)
  const next = {
    request: shown.at(-1) ?? after.request,
    callTime: lastCall?.time ?? after.callTime,
    call: lastCall?.id ?? after.call,
  }
  return { steps, next }
}
