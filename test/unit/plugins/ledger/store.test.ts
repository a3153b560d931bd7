import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import path from 'node:path'
import { expect } from 'chai'
import { type CompiledQuery, Kysely, SqliteDialect } from 'kysely'
import type { RuleTraceEntry } from '../../../../core/contract/index.ts'
import { SqliteDatabase } from '../../../../core/event-log/sqlite/database.ts'
import { parseEncryptionKeys } from '../../../../core/secrets/encryption-keys.ts'
import { newLogId, requestIdAt, timeOfRequestId } from '../../../../core/util/ids.ts'
import type { LedgerLocation } from '../../../../plugins/ledger/store/database.ts'
import { listRecords } from '../../../../plugins/ledger/store/list-records.ts'
import { createPromptCipher } from '../../../../plugins/ledger/store/prompt-cipher.ts'
import type { RequestFilter, UsageQuery } from '../../../../plugins/ledger/store/queries.ts'
import { listSessions, listSteps } from '../../../../plugins/ledger/store/read-sessions.ts'
import { sumCosts } from '../../../../plugins/ledger/store/read-usage.ts'
import type { LedgerRecord } from '../../../../plugins/ledger/store/record.ts'
import { DAY_MS, HOUR_MS } from '../../../../plugins/ledger/store/record-id.ts'
import { type LedgerStore, openLedgerStore } from '../../../../plugins/ledger/store/store.ts'
import type { LedgerTables } from '../../../../plugins/ledger/store/tables.ts'
import type { NewToolCall } from '../../../../plugins/ledger/store/tool-calls.ts'
import { makeFolder } from '../../../support/folders.ts'
import { ledgerRecord } from '../../../support/ledger-records.ts'
import { type RunningPostgres, requirePostgres } from '../../../support/postgres.ts'
import { itInFull } from '../../../support/rounds.ts'
import { waitUntil } from '../../../support/wait.ts'

const NOON = Date.UTC(2026, 2, 10, 12)

/** A call of a tool in the session `run`. */
function toolCall(time: number): NewToolCall {
  return {
    ...{ id: requestIdAt(time), time: new Date(time).toISOString(), userId: 1, keyId: 'key_1', groups: [] },
    ...{ sessionId: 'run', server: 'files', tool: 'read', argumentsDigest: '', verdict: 'allowed' },
    ...{ rules: [], warnings: [], requestBytes: 2, resultBytes: 4, durationMs: 1, upstreamMs: 1 },
    ...{ rulesPosition: 1, read: [] },
  }
}

describe('the ledger on SQLite', () => {
  behavesAsLedger(async () => ({ engine: 'sqlite', file: path.join(await makeFolder(), 'ledger.db') }))

  it('stores what rules did once, and where it is found once for 10 seconds', async () => {
    const file = path.join(await makeFolder(), 'ledger.db')
    const store = await openLedgerStore({ engine: 'sqlite', file }, 'log_a')
    const rules = [firewallRule(1, 'warn'), firewallRule(2, 'warn')]
    const warnings = [{ code: 'rule', message: 'A rule warns.' }]
    for (let batch = 0; batch < 4; batch++)
      await store.write(
        Array.from({ length: 10 }, (_, n) =>
          ledgerRecord({ time: NOON + batch * 5000 + n, rules, warnings }),
        ),
      )
    const database = new SqliteDatabase(file)
    const count = (table: string) => database.prepare(`select count(*) from ${table}`).pluck().get()
    expect(['lists', 'trace_rules', 'trace_slots'].map(count)).to.deep.equal([2, 2, 6])
    expect(database.prepare('select distinct warnings from requests').pluck().all()).to.deep.equal([null])
    const retention = { requestDays: 90, promptDays: 30, usageDays: 400 }
    while (await store.sweep(retention, Date.now() + 402 * DAY_MS));
    // A slot is deleted with the first request of a later one.
    expect(['lists', 'trace_rules', 'trace_slots'].map(count)).to.deep.equal([0, 0, 3])
    database.close()
    await store.close()
  })

  it('finds the sessions of calls that were recorded before there were sessions', async () => {
    const location = { engine: 'sqlite', file: path.join(await makeFolder(), 'ledger.db') } as const
    const earlier = await openLedgerStore(location, 'log_a')
    await earlier.saveToolCalls([toolCall(NOON), toolCall(NOON + 1)])
    await earlier.write([ledgerRecord({ time: NOON })])
    await earlier.close()
    const database = new SqliteDatabase(location.file)
    for (const statement of [
      'drop table sessions',
      'drop index requests_by_session',
      'alter table requests drop column session',
      'drop index tool_calls_by_session',
      'create index tool_calls_by_session on tool_calls (session, id)',
      ...['clock', 'parts', 'targets'].map((name) => `drop table export_${name}`),
      "delete from kysely_migration where name >= '1.3-sessions'",
    ])
      database.exec(statement)
    database.close()
    const store = await openLedgerStore(location, 'log_a')
    const { sessions } = await store.listSessions({ limit: 10 })
    expect(sessions.map(({ session, toolCalls, requests }) => [session, toolCalls, requests])).to.deep.equal([
      ['run', 2, 0],
    ])
    expect((await store.list({ filter: {}, limit: 10 })).records[0]?.sessionId).to.equal(undefined)
    await store.close()
  })

  it('reads sessions from their index, whoever has more requests', async () => {
    const file = path.join(await makeFolder(), 'ledger.db')
    const store = await openLedgerStore({ engine: 'sqlite', file }, 'log_a')
    await store.write([ledgerRecord({ time: NOON, groups: [3], sessionId: 'run' })])
    const database = new SqliteDatabase(file)
    const queries: CompiledQuery[] = []
    const db = new Kysely<LedgerTables>({
      dialect: new SqliteDialect({ database }),
      log: ({ query }) => void queries.push(query),
    })
    await listSessions(db, { limit: 10, anyGroup: [3] })
    await listSteps(db, { limit: 10, userId: 1, session: 'run', anyGroup: [3] })
    const filter = { sessionId: 'run', userId: 1, anyGroup: [3], endpoint: '/v1/chat/completions' }
    expect((await listRecords(db, 'sqlite', { filter, limit: 10 })).records).to.have.length(1)
    const plans = queries.flatMap(({ sql, parameters }) => {
      const plan = database.prepare(`explain query plan ${sql}`).all(...parameters) as { detail: string }[]
      return plan.map(({ detail }) => detail)
    })
    const indexes = plans.flatMap((detail) => /requests USING INDEX (\w+)/.exec(detail)?.[1] ?? [])
    expect(indexes).to.have.length(4)
    expect(new Set(indexes)).to.deep.equal(new Set(['requests_by_session']))
    database.close()
    await store.close()
  })

  it('says why the arguments of calls cannot be decrypted', async () => {
    const location = { engine: 'sqlite', file: path.join(await makeFolder(), 'ledger.db') } as const
    const open = (key?: Buffer) =>
      openLedgerStore(location, 'log_a', {
        cipher: createPromptCipher(key === undefined ? [] : parseEncryptionKeys(key.toString('base64'))),
      })
    const [own, other] = [randomBytes(32), randomBytes(32)]
    const read = async (key?: Buffer) => {
      const store = await open(key)
      const [call] = await store.listToolCalls({ filter: {}, limit: 1, withArguments: true })
      await store.close()
      return call
    }
    const store = await open(own)
    await store.saveToolCalls([{ ...toolCall(NOON), argumentsText: '{"path":"a"}' }])
    await store.close()
    expect(await read(own)).to.include({ argumentsText: '{"path":"a"}' })
    expect((await read(other))?.unreadable).to.match(/^RECORD_KEY does not have the key/)
    expect((await read())?.unreadable).to.equal('RECORD_KEY is not set')
  })

  it('reads no copies from before a period to sum up what a caller has spent in it', async () => {
    const file = path.join(await makeFolder(), 'ledger.db')
    const store = await openLedgerStore({ engine: 'sqlite', file }, 'log_a')
    await store.write([ledgerRecord({ time: NOON, keyId: 'key_1' })])
    const database = new SqliteDatabase(file)
    const queries: CompiledQuery[] = []
    const db = new Kysely<LedgerTables>({
      dialect: new SqliteDialect({ database }),
      log: ({ query }) => void queries.push(query),
    })
    const sumTwice = async () => {
      queries.length = 0
      await sumCosts(db, { since: NOON, userId: 7 })
      await sumCosts(db, { since: NOON, keyId: 'key_1' })
      return queries.filter(({ sql }) => sql.includes('sum(') && sql.includes('"shadow_of" is not null'))
    }
    expect(await sumTwice(), 'without copies').to.have.length(0)
    const requestId = requestIdAt(NOON)
    await store.write([ledgerRecord({ requestId, time: NOON, keyId: 'key_1', shadowOf: requestIdAt(NOON) })])
    await store.close()
    const plans = (await sumTwice()).map((query) => {
      const steps = database.prepare(`explain query plan ${query.sql}`).all(...query.parameters)
      return JSON.stringify(steps)
    })
    expect(plans).to.have.length(2)
    expect(plans[0]).to.include('(user_id=? AND rowid>?)')
    expect(plans[1]).to.include('(key=? AND rowid>?)')
    await db.destroy()
  })

  it('refuses a file that belongs to another event log', async () => {
    const location = { engine: 'sqlite', file: path.join(await makeFolder(), 'ledger.db') } as const
    const logId = newLogId()
    await (await openLedgerStore(location, logId)).close()
    const error = await openLedgerStore(location, newLogId()).catch((thrown: unknown) => thrown)
    expect(error).to.include({ logId })
    expect(existsSync(location.file)).to.equal(true)
  })
})

describe('the ledger on PostgreSQL', () => {
  let server: RunningPostgres

  before(async function () {
    this.timeout(180_000)
    server = await requirePostgres(this)
  })

  after(() => server?.stop())

  behavesAsLedger(async () => {
    await server.emptyLedger(CONTRACT_LOG)
    return { engine: 'postgres', url: server.url }
  }, itInFull)

  it('keeps the ledgers of two event logs apart', async () => {
    const location = { engine: 'postgres', url: server.url } as const
    const [one, other] = await Promise.all(
      ['log_one', 'log_Other'].map((id) => openLedgerStore(location, id)),
    )
    const record = ledgerRecord()
    await one!.write([record])
    expect(await other!.find(record.requestId)).to.equal(undefined)
    expect(await one!.find(record.requestId)).to.include({ requestId: record.requestId })
    await Promise.all([one!.close(), other!.close()])
  })

  itInFull('takes the records of two gateways at the same time', async () => {
    const location = { engine: 'postgres', url: server.url } as const
    const stores = await Promise.all([1, 2].map(() => openLedgerStore(location, 'log_two')))
    const end = 'aaaaaaaaaaaaaaaaa'
    const batches = Array.from({ length: 10 }, (_, batch) =>
      stores.map((store, writer) =>
        // The same millisecond and the same end, so that all ids conflict.
        store.write([
          ledgerRecord({ requestId: requestIdAt(NOON + batch, `${writer}${end.slice(1)}`) }),
          ledgerRecord({ requestId: requestIdAt(NOON + batch, `${writer}b${end.slice(2)}`) }),
        ]),
      ),
    )
    await Promise.all(batches.flat())
    expect(await stores[0]!.sumCosts({ since: 0 })).to.deep.equal({ cost: 40 * 1_250_000, unknownCosts: 0 })
    expect((await stores[1]!.list({ filter: {}, limit: 100 })).records).to.have.length(40)
    await Promise.all(stores.map((store) => store.close()))
  })

  it('stores texts again after the server was restored from a backup that has others', async () => {
    const location = { engine: 'postgres', url: server.url } as const
    const store = await openLedgerStore(location, 'log_restored')
    await store.write([ledgerRecord({ requestId: requestIdAt(NOON), model: 'before' })])
    await server.query(
      `update log_restored.targets set model = 'other';
       select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and pid <> pg_backend_pid()`,
    )
    await waitUntil(async () => {
      const { rows } = await server.query(
        'select 1 from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
      )
      return rows.length === 0
    })
    const requestId = requestIdAt(NOON + 1)
    await store.write([ledgerRecord({ requestId, model: 'before' })])
    expect(await store.find(requestId)).to.include({ model: 'before' })
    await store.close()
  })

  itInFull('takes the same new texts of two gateways, whose records come in another order', async () => {
    const location = { engine: 'postgres', url: server.url } as const
    const stores = await Promise.all([1, 2].map(() => openLedgerStore(location, 'log_two')))
    const write = (store: LedgerStore, part: (n: number) => object, round: number, isReversed: boolean) => {
      const records = Array.from({ length: 500 }, (_, n) => {
        const requestId = requestIdAt(NOON + round, `${isReversed}${n}`.padEnd(17, 'x'))
        return ledgerRecord({ requestId, ...part(n) })
      })
      return store.write(isReversed ? records.reverse() : records)
    }
    const parts = [
      (n: number) => ({ reason: `reason ${n}` }),
      (n: number) => ({ groups: [n] }),
      (n: number) => ({ model: `model ${n}` }),
      (n: number) => ({ error: { code: 'refused', status: 403, message: `message ${n}` } }),
    ]
    for (const [round, part] of parts.entries())
      await Promise.all(stores.map((store, index) => write(store, part, 100 + round, index === 1)))
    await Promise.all(stores.map((store) => store.close()))
  })
})

const CONTRACT_LOG = 'log_contract'

/**
 * The contract of every ledger. `locate` returns where each test finds an empty one, or none. `itWithMany`
 * defines tests of hundreds of statements.
 */
function behavesAsLedger(locate: () => Promise<LedgerLocation>, itWithMany: typeof itInFull = it): void {
  let store: LedgerStore

  beforeEach(async () => {
    const cipher = createPromptCipher(parseEncryptionKeys(randomBytes(32).toString('base64')))
    store = await openLedgerStore(await locate(), CONTRACT_LOG, { cipher })
  })

  afterEach(() => store?.close())

  const idsOf = async (filter: RequestFilter, limit = 100) =>
    (await store.list({ filter, limit })).records.map(({ requestId }) => requestId)

  it('returns series by minute and by hour', async () => {
    const minute = 60_000
    const at = (time: number, changes: Parameters<typeof ledgerRecord>[0] = {}) =>
      ledgerRecord({ time, ...changes })
    const error = { code: 'firewall_blocked', status: 403 }
    await store.write([
      at(NOON, { latencyMs: 300, rules: [firewallRule(1, 'mask'), firewallRule(2, 'mask')] }),
      at(NOON + 59_999, { latencyMs: 100, cost: null }),
      at(NOON + minute, { status: 403, error, cost: 0, latencyMs: 1, rules: [firewallRule(3, 'block')] }),
      at(NOON + 2 * HOUR_MS),
    ])
    const range = { since: NOON, until: NOON + HOUR_MS }
    expect(await store.series({ ...range, stepMs: minute })).to.deep.equal([
      { time: NOON, requests: 2, errors: 0, blocks: 0, masks: 1, cost: 1_250_000, latencies: [100, 300] },
      { time: NOON + minute, requests: 1, errors: 1, blocks: 1, masks: 0, cost: 0, latencies: [] },
    ])
    expect(await store.series({ ...range, until: NOON + 3 * HOUR_MS, stepMs: HOUR_MS })).to.deep.equal([
      { time: NOON, requests: 3, errors: 1, blocks: 1, masks: 1, cost: 1_250_000, latencies: [100, 300] },
      {
        time: NOON + 2 * HOUR_MS,
        requests: 1,
        errors: 0,
        blocks: 0,
        masks: 0,
        cost: 1_250_000,
        latencies: [130],
      },
    ])
    expect(await store.series({ since: 0, until: NOON, stepMs: HOUR_MS })).to.deep.equal([])
  })

  it('counts a call of a tool once for each of its rules, also when its batch is written again', async () => {
    const rules = [
      { kind: 'tool', id: 3, name: 'A', action: 'warn' },
      { kind: 'tool', id: 3, name: 'A', action: 'deny' },
      { kind: 'firewall', id: 4, name: 'B', action: 'mask' },
    ]
    const called = { ...toolCall(NOON), groups: [5], rules }
    await store.saveToolCalls([called])
    await store.saveToolCalls([called, toolCall(NOON + 1)])
    const hour = Math.floor(NOON / HOUR_MS)
    for (const filter of [{}, { groupId: 5 }, { userId: called.userId }]) {
      const range = { since: hour, until: hour + 1, limit: 10 }
      const used = await store.usage({ groupBy: ['rule'], ...range, ...filter })
      expect(used.map(({ rule, requests }) => [rule?.kind, rule?.id, requests])).to.have.deep.members([
        ['firewall', 4, 1],
        ['tool', 3, 1],
      ])
    }
  })

  it('deletes sessions with the last of what happened in them', async () => {
    await store.write([ledgerRecord({ time: NOON, sessionId: 'run' })])
    await store.write([ledgerRecord({ time: NOON, sessionId: 'early' })])
    await store.write([ledgerRecord({ time: NOON, sessionId: 'copy', shadowOf: requestIdAt(NOON) })])
    const later = toolCall(NOON + DAY_MS)
    await store.saveToolCalls([later])
    const read = async () =>
      (await store.listSessions({ limit: 10 })).sessions.map(({ session, requests, toolCalls }) => [
        ...[session, requests, toolCalls],
      ])
    expect(await read()).to.deep.equal([
      ['run', 1, 1],
      ['early', 1, 0],
    ])
    const retention = { requestDays: 90, promptDays: 30, usageDays: 400 }
    while (await store.sweep(retention, NOON + 91 * DAY_MS));
    expect(await read()).to.deep.equal([['run', 0, 1]])
    while (await store.sweep(retention, NOON + 92 * DAY_MS));
    expect(await read()).to.deep.equal([])
  })

  it('returns the prompts of several records', async () => {
    const content = { request: { messages: [] }, preferences: [], defaulted: [], leftOut: [] }
    const prompt = { mode: 'full', chars: 10, content, omission: null } as const
    await store.write([ledgerRecord({ prompt }), ledgerRecord()])
    const { records } = await store.list({ filter: {}, limit: 10 })
    const prompts = [...(await store.promptsOf(records)).values()]
    expect(prompts.map((each) => each.content)).to.deep.equal([content])
  })

  it('returns records as they were written', async () => {
    const plain = ledgerRecord()
    const [attempt] = plain.attempts
    const timed = ledgerRecord({ times: [1, 2, 4], attempts: [{ ...attempt!, startMs: 5 }] })
    const rich = ledgerRecord({
      times: [0, 1, 2],
      requestedModel: 'auto',
      status: 502,
      error: {
        code: 'provider_error',
        status: 502,
        message: 'The provider failed.',
        param: 'messages[0]',
        ruleId: 12,
      },
      attempts: [
        { provider: 'openai', model: 'gpt-4o', outcome: 'provider_error', ms: 7, startMs: 3 },
        { provider: 'mistral', model: 'small', outcome: 'ok', ms: 9, startMs: 11 },
      ],
      rules: [firewallRule(12, 'mask'), { ...firewallRule(13, 'warn'), scope: 'response' }],
      warnings: [{ code: 'plan', message: 'Rules are not applied.' }],
      tokens: null,
      cost: null,
      firstTokenMs: 44,
      isStream: true,
      isCacheHit: true,
      isAborted: true,
      traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
      router: { version: 3, probability: 0.625, propensity: null },
      arm: 'gpt-4o-mini',
      shadowOf: requestIdAt(NOON),
      signals: ['cut_off', 'asked_again'],
    })
    const refused = ledgerRecord({
      times: [0, 1],
      requestedModel: null,
      mode: null,
      reason: null,
      provider: null,
      model: null,
      attempts: [],
      status: 429,
      error: { code: 'rate_limit_exceeded', status: 429 },
      tokens: null,
      cost: 0,
    })
    const records = [plain, timed, rich, refused]
    await store.write(records)
    for (const record of records) {
      const { id, ...found } = (await store.find(record.requestId))!
      const { prompt, ...fields } = record
      expect(found).to.deep.equal({ ...fields, feedback: [] })
      expect(id).to.be.a('number')
    }
  })

  it('has figures of the newest requests, by the nearest rank', async () => {
    const latencies = Array.from({ length: 200 }, (_, index) => 200 - index)
    const records = latencies.map((latencyMs) =>
      ledgerRecord({ latencyMs, cost: 5, ...(latencyMs <= 10 && { firstTokenMs: latencyMs }) }),
    )
    const refused = ledgerRecord({
      error: { code: 'x', status: 400 },
      status: 400,
      latencyMs: 999,
      cost: null,
    })
    await store.write([...records, refused])
    expect(await store.figures({ filter: {}, limit: 201 })).to.deep.equal({
      ...{ requests: 201, isTruncated: false, errors: 1, cost: 1000, unknownCosts: 1 },
      latency: { p50: 100, p90: 180, p99: 198 },
      firstToken: { p50: 5, p90: 9, p99: 10 },
    })
    expect(await store.figures({ filter: {}, limit: 200 })).to.include({ requests: 200, isTruncated: true })
  })

  it('returns records whose batches have columns of many forms as they were written', async () => {
    const parts: Partial<LedgerRecord>[] = [
      { traceId: '4bf92f3577b34da6a3ce929d0e0e4736' },
      { firstTokenMs: 4 },
      { arm: 'gpt-4o-mini' },
      { shadowOf: requestIdAt(NOON) },
      { router: { version: 3, probability: 0.625, propensity: null } },
      { mode: null, reason: null },
      { tokens: null, cost: null },
      { groups: [3] },
    ]
    for (const part of [{}, ...parts, {}]) {
      const record = ledgerRecord(part)
      await store.write([record])
      const { id: _, feedback, ...found } = (await store.find(record.requestId))!
      const { prompt, ...fields } = record
      expect(found).to.deep.equal(fields)
    }
  })

  it('finds nothing under other ids', async () => {
    await store.write([ledgerRecord()])
    for (const id of ['req_unknown', requestIdAt(NOON), 'req_000000000000000000000000', "req_' or 1=1 --"])
      expect(await store.find(id)).to.equal(undefined)
  })

  it('keeps each record once, however often it is written', async () => {
    const records = [ledgerRecord(), ledgerRecord()]
    await store.write(records)
    await store.write([...records, ...records, ledgerRecord()])
    expect(await store.sumCosts({ since: 0 })).to.deep.equal({ cost: 3 * 1_250_000, unknownCosts: 0 })
    expect(await idsOf({})).to.have.length(3)
  })

  itWithMany(
    'keeps requests apart that arrived in the same millisecond with the same end of their ids',
    async () => {
      const records = Array.from({ length: 40 }, (_, n) =>
        ledgerRecord({
          requestId: requestIdAt(NOON, `${String(n).padStart(15, '0')}zz`),
          rules: [firewallRule(n)],
        }),
      )
      for (const part of [records.slice(0, 10), records.slice(5, 40)]) await store.write(part)
      for (const record of records) {
        expect((await store.find(record.requestId))?.rules).to.deep.equal(record.rules)
        const [rule] = record.rules
        const filter = { rule: { kind: 'firewall', id: rule?.rule_id ?? 0 } }
        expect(await idsOf(filter)).to.deep.equal([record.requestId])
      }
    },
  )

  it('lists requests newest first, in pages that later requests do not shift', async () => {
    const records = Array.from({ length: 25 }, (_, n) => ledgerRecord({ time: NOON + n * 1000 }))
    await store.write(records)
    const expected = records.map(({ requestId }) => requestId).toReversed()
    const first = await store.list({ filter: {}, limit: 10 })
    await store.write([ledgerRecord({ time: NOON + HOUR_MS })])
    const second = await store.list({ filter: {}, limit: 10, before: first.next! })
    const third = await store.list({ filter: {}, limit: 10, before: second.next! })
    const listed = [first, second, third].flatMap((page) => page.records.map(({ requestId }) => requestId))
    expect(listed).to.deep.equal(expected)
    expect(third.next).to.equal(undefined)
  })

  it('filters by everything, alone and together', async () => {
    const records: LedgerRecord[] = Array.from({ length: 90 }, (_, n) => {
      const isBlocked = n % 7 === 0
      return ledgerRecord({
        time: NOON + n * 1000,
        userId: 1 + (n % 3),
        keyId: `key_${n % 6}`,
        endpoint: n % 5 === 0 ? '/route' : '/v1/chat/completions',
        provider: isBlocked ? null : n % 2 === 0 ? 'openai' : 'mistral',
        model: isBlocked ? null : `model-${n % 4}`,
        status: isBlocked ? 403 : 200,
        error: isBlocked
          ? { code: 'firewall_blocked', status: 403, message: `Rule ${n % 30} says 100%_No Übermut.` }
          : null,
        rules: isBlocked ? [firewallRule(5)] : n % 11 === 0 ? [firewallRule(6, 'warn')] : [],
      })
    })
    await store.write(records)
    const filters: [RequestFilter, (record: LedgerRecord, n: number) => boolean][] = [
      [{ userId: 2 }, ({ userId }) => userId === 2],
      [{ keyId: 'key_4' }, ({ keyId }) => keyId === 'key_4'],
      [{ endpoint: '/route' }, ({ endpoint }) => endpoint === '/route'],
      [{ provider: 'openai' }, ({ provider }) => provider === 'openai'],
      [{ model: 'model-3' }, ({ model }) => model === 'model-3'],
      [{ status: 403 }, ({ status }) => status === 403],
      [{ status: 200 }, ({ status }) => status === 200],
      [{ rule: { kind: 'firewall', id: 5 } }, ({ rules }) => rules[0]?.rule_id === 5],
      [{ rule: { kind: 'routing', id: 5 } }, () => false],
      [{ action: 'warn' }, ({ rules }) => rules[0]?.action === 'warn'],
      [{ text: 'SAYS 100%_no' }, ({ error }) => error !== null],
      [{ text: 'NO Übermut' }, ({ error }) => error !== null],
      [{ text: '100%Xno' }, () => false],
      [{ text: 'rule 14 ' }, ({ error }) => error?.message?.startsWith('Rule 14 ') === true],
      [{ text: 'firewall_b' }, ({ error }) => error !== null],
      [{ since: NOON + 20_000 }, (_, n) => n >= 20],
      [{ until: NOON + 80_000 }, (_, n) => n < 80],
    ]
    for (const [index, [a, matchesA]] of filters.entries()) {
      for (const [b, matchesB] of filters.slice(index, index + 4)) {
        const expected = records.filter((record, n) => matchesA(record, n) && matchesB(record, n))
        const isSame = Object.keys(a).some((name) => name in b) && a !== b
        if (isSame) continue
        const found = await idsOf({ ...a, ...b }, 300)
        expect(found, JSON.stringify({ ...a, ...b })).to.deep.equal(
          expected.map(({ requestId }) => requestId).toReversed(),
        )
      }
    }
    for (const filter of [{ keyId: 'key_9' }, { model: 'none' }, { endpoint: '/none' }, { action: 'none' }])
      expect(await idsOf(filter)).to.deep.equal([])
    const ofNul = '\0'
    for (const name of ['keyId', 'model', 'provider', 'endpoint', 'action', 'text'])
      expect(await idsOf({ [name]: ofNul }), name).to.deep.equal([])
    expect(await idsOf({ rule: { kind: ofNul, id: 5 } })).to.deep.equal([])
  })

  it('lists no copies by what a rule did unless they are asked for', async () => {
    const request = ledgerRecord({ rules: [firewallRule(7)], time: NOON })
    const copy = ledgerRecord({ rules: [firewallRule(7)], time: NOON + 1, shadowOf: request.requestId })
    await store.write([request, copy])
    const rule = { kind: 'firewall', id: 7 }
    for (const filter of [{ rule }, { rule, userId: 1 }, { action: 'block' }])
      expect(await idsOf(filter)).to.deep.equal([request.requestId])
    expect(await idsOf({ rule, copies: 'only' })).to.deep.equal([copy.requestId])
  })

  itWithMany('lists what a rule did in pages, newest first, whatever other rules did', async () => {
    const records = Array.from({ length: 400 }, (_, n) =>
      ledgerRecord({
        // In about three slots of time, and not in the order of time.
        time: NOON + ((n * 7919) % 25_000),
        rules: [firewallRule(7, n % 2 === 0 ? 'mask' : 'warn'), firewallRule(100 + (n % 50), 'mask')],
        userId: 1 + (n % 3),
      }),
    )
    for (let from = 0; from < records.length; from += 100) await store.write(records.slice(from, from + 100))
    const sorted = records.toSorted((a, b) => timeOf(b) - timeOf(a))
    const readAll = async (filter: RequestFilter) => {
      const times: number[] = []
      for (let before: number | undefined; ; ) {
        const page = await store.list({ filter, limit: 7, ...(before !== undefined && { before }) })
        times.push(...page.records.map(timeOf))
        before = page.next
        if (before === undefined) return times
      }
    }
    const rule = { kind: 'firewall', id: 7 }
    const range = { since: NOON + 4000, until: NOON + 21_000 }
    expect(await readAll({ rule })).to.deep.equal(sorted.map(timeOf))
    expect(await readAll({ rule, ...range })).to.deep.equal(
      sorted.map(timeOf).filter((time) => time >= range.since && time < range.until),
    )
    const byUser = sorted.filter(({ userId }) => userId === 2).map(timeOf)
    expect(await readAll({ rule, userId: 2 })).to.deep.equal(byUser)
    const masked = sorted.filter(({ rules }) => rules[0]?.action === 'mask').map(timeOf)
    expect(await readAll({ rule, action: 'mask' })).to.deep.equal(masked)
    expect(await readAll({ action: 'mask' })).to.deep.equal(sorted.map(timeOf))
    expect(await readAll({ rule: { kind: 'firewall', id: 8 } })).to.deep.equal([])
  })

  it('tells an action from a kind of rules of the same name', async () => {
    const rule = { kind: 'mask', rule_id: 0, name: 'a plugin', action: 'warn', outcome: 'applied' } as const
    const [ofKind, ofAction] = [1, 2].map((n) =>
      ledgerRecord({ time: NOON + n, rules: [n === 1 ? rule : firewallRule(1, 'mask')] }),
    )
    await store.write([ofKind!, ofAction!])
    expect(await idsOf({ action: 'mask' })).to.deep.equal([ofAction!.requestId])
    expect(await idsOf({ rule: { kind: 'mask', id: 0 } })).to.deep.equal([ofKind!.requestId])
  })

  it('sums up usage by any dimensions', async () => {
    const hour = NOON / HOUR_MS
    await store.write([
      ledgerRecord({ time: NOON, userId: 1, keyId: 'a' }),
      ledgerRecord({ time: NOON + HOUR_MS, userId: 1, keyId: 'b', model: 'gpt-4o-mini' }),
      ledgerRecord({ time: NOON + HOUR_MS, userId: 2, keyId: 'c', cost: null, rules: [firewallRule(3)] }),
    ])
    await store.write([
      ledgerRecord({
        time: NOON + DAY_MS,
        userId: 2,
        keyId: 'c',
        provider: null,
        model: null,
        cost: 0,
        tokens: null,
        error: { code: 'x', status: 500 },
        rules: [firewallRule(3), firewallRule(3, 'warn'), firewallRule(4)],
      }),
      ledgerRecord({ time: NOON + DAY_MS, userId: 2, keyId: 'c', isCacheHit: true, cost: 0 }),
    ])
    const range = { since: hour, until: hour + 48, limit: 100 }
    const total = {
      requests: 5,
      errors: 1,
      cacheHits: 1,
      unknownCosts: 1,
      input: 400,
      cached: 40,
      cacheWrite: 20,
      output: 80,
      reasoning: 12,
      cost: 2_500_000,
      ratings: 0,
      score: 0,
      signals: { cut_off: 0, invalid_tool_call: 0, schema_mismatch: 0, asked_again: 0 },
    }
    expect(await store.usage({ ...range, groupBy: [] })).to.deep.equal([total])
    const pick = async (groupBy: Parameters<LedgerStore['usage']>[0]['groupBy'], more = {}) =>
      (await store.usage({ ...range, ...more, groupBy })).map(
        ({
          requests,
          errors,
          cacheHits,
          unknownCosts,
          input,
          cached,
          cacheWrite,
          output,
          reasoning,
          cost,
          ratings,
          score,
          signals,
          ...key
        }) => [...Object.values(key), requests],
      )
    const day = Math.floor(hour / 24)
    expect(await pick(['day', 'user'])).to.deep.equal([
      [1, day, 2],
      [2, day, 1],
      [2, day + 1, 2],
    ])
    expect(await pick(['hour'])).to.deep.equal([
      [hour, 1],
      [hour + 1, 2],
      [hour + 24, 2],
    ])
    expect(await pick(['rule'])).to.have.deep.members([
      [{ kind: 'firewall', id: 3 }, 2],
      [{ kind: 'firewall', id: 4 }, 1],
    ])
    expect(await pick(['model', 'provider'])).to.have.deep.members([
      ['gpt-4o', 'openai', 3],
      ['gpt-4o-mini', 'openai', 1],
      [null, null, 1],
    ])
    expect(await pick(['key'], { userId: 1 })).to.deep.equal([
      ['a', 1],
      ['b', 1],
    ])
    expect(await pick([], { keyId: 'c' })).to.deep.equal([[3]])
    expect(await pick(['user'], { keyId: 'unknown' })).to.deep.equal([])
    expect(await pick([], { since: hour + 1, until: hour + 2 })).to.deep.equal([[2]])
    expect(await pick([], { since: 0, until: 1 })).to.deep.equal([])
  })

  it('sums up costs exactly, from any moment on', async () => {
    const costs = [0.1, 0.2, 0.3, 0.000_000_001].map((cost) => Math.round(cost * 1e9))
    await store.write([
      ledgerRecord({ time: NOON + 59 * 60_000, cost: costs[0]! }),
      ledgerRecord({ time: NOON + 59.5 * 60_000, cost: costs[1]!, userId: 2, keyId: 'key_2' }),
      ledgerRecord({ time: NOON + HOUR_MS, cost: costs[2]! }),
      ledgerRecord({ time: NOON + HOUR_MS, cost: null }),
      ledgerRecord({ time: NOON + 9 * HOUR_MS, cost: costs[3]! }),
    ])
    const since = async (time: number, more = {}) => (await store.sumCosts({ since: time, ...more })).cost
    expect(await store.sumCosts({ since: NOON })).to.deep.equal({ cost: 600_000_001, unknownCosts: 1 })
    expect(await since(NOON + 59 * 60_000 + 1)).to.equal(500_000_001)
    expect(await since(NOON + 59.5 * 60_000)).to.equal(500_000_001)
    expect(await since(NOON + 59.6 * 60_000)).to.equal(300_000_001)
    expect(await since(NOON + HOUR_MS)).to.equal(300_000_001)
    expect(await since(NOON, { userId: 2 })).to.equal(200_000_000)
    expect(await since(NOON, { keyId: 'key_1' })).to.equal(400_000_001)
    expect(await since(NOON, { keyId: 'none' })).to.equal(0)
    expect(await since(NOON + 10 * HOUR_MS)).to.equal(0)
    const until = (minutes: number, start = NOON) => since(start, { until: NOON + minutes * 60_000 })
    expect(await until(59)).to.equal(0)
    expect(await until(59.1)).to.equal(100_000_000)
    expect(await until(59.6, NOON + 59.1 * 60_000)).to.equal(200_000_000)
    expect(await until(60)).to.equal(300_000_000)
    expect(await until(60.1)).to.equal(600_000_000)
    expect(await until(600)).to.equal(600_000_001)
  })

  it('sums up copies for everything, and for whoever asked for them', async () => {
    const who = { userId: 7, keyId: 'key_7', groups: [3], shadowOf: requestIdAt(NOON, '0'.repeat(17)) }
    await store.write([
      ledgerRecord({ time: NOON, ...who, cost: 100, isOwnCopy: true }),
      ledgerRecord({ time: NOON, ...who, cost: 20 }),
    ])
    const sum = async (query: object) => (await store.sumCosts({ since: NOON, ...query })).cost
    expect(await sum({})).to.equal(120)
    expect(await sum({ copies: true })).to.equal(120)
    for (const query of [{ userId: 7 }, { keyId: 'key_7' }, { groupId: 3 }])
      expect(await sum(query), JSON.stringify(query)).to.equal(100)
    expect(await sum({ userId: 8 })).to.equal(0)
  })

  it('adds assumed costs to sums, and leaves requests out that it is told', async () => {
    const shadowOf = requestIdAt(NOON, '0'.repeat(17))
    const copies: readonly Partial<LedgerRecord>[] = [{}, { shadowOf }, { shadowOf, isOwnCopy: true }]
    const costs = [{}, { cost: null }, { cost: null, assumedCost: 0 }]
    const records = [1, 2].flatMap((userId) =>
      [[], [userId], [1, 2]].flatMap((groups) =>
        copies.flatMap((copy) =>
          costs.map((cost) => ({ userId, keyId: `key_${userId}`, groups, ...copy, ...cost })),
        ),
      ),
    )
    // Sums tell which records they have.
    const written = records.map((record, index) => {
      const [cost, time] = [2 ** (index % 50), NOON + index * 20 * 60_000]
      const isAssumed = 'assumedCost' in record
      return ledgerRecord({
        time,
        ...(record.cost !== null && { cost }),
        ...record,
        ...(isAssumed && { assumedCost: cost }),
      })
    })
    await store.write(written)
    const owners = [
      [{}, () => true],
      [{ copies: true }, (record) => record.shadowOf !== undefined],
      [{ userId: 1 }, (record) => isOfCaller(record) && record.userId === 1],
      [{ keyId: 'key_2' }, (record) => isOfCaller(record) && record.keyId === 'key_2'],
      [{ groupId: 2 }, (record) => isOfCaller(record) && record.groups.includes(2)],
      [{ groupId: 3 }, () => false],
    ] as const satisfies readonly (readonly [object, (record: LedgerRecord) => boolean])[]
    const isOfCaller = ({ shadowOf, isOwnCopy }: LedgerRecord) => shadowOf === undefined || isOwnCopy === true
    const costOf = ({ cost, assumedCost }: LedgerRecord) => (cost ?? 0) + (assumedCost ?? 0)
    const [since, until] = [NOON + 90 * 60_000, NOON + 15 * HOUR_MS]
    const isInRange = ({ requestId }: LedgerRecord) => {
      const time = timeOfRequestId(requestId) ?? 0
      return time >= since && time < until
    }
    // More than are looked up at once, and some twice.
    const unknown = Array.from({ length: 250 }, (_, index) => requestIdAt(since + index))
    const left = written.filter((_, index) => index % 4 < 2)
    const ids = left.map(({ requestId }) => requestId)
    for (const excepted of [[], left])
      for (const [owner, isPart] of owners) {
        const except = excepted.length === 0 ? [] : [...ids, 'no id', ...unknown, ...ids]
        const parts = written.filter(
          (record) => isPart(record) && isInRange(record) && !excepted.includes(record),
        )
        const { cost } = await store.sumCosts({ since, until, except, ...owner })
        expect(cost, JSON.stringify(owner)).to.equal(parts.reduce((sum, record) => sum + costOf(record), 0))
      }
  })

  it('deletes what is too old, by whole days, and what only that used', async () => {
    const old = ledgerRecord({
      time: NOON,
      error: { code: 'x', status: 500, message: 'old' },
      rules: [firewallRule(1)],
    })
    const kept = ledgerRecord({ time: NOON + 12 * HOUR_MS, rules: [firewallRule(1)] })
    await store.write([...Array.from({ length: 700 }, () => ledgerRecord({ time: NOON })), old, kept])
    const retention = { requestDays: 90, promptDays: 30, usageDays: 400 }
    const sweepAll = async (now: number, left = 20): Promise<void> => {
      if (left === 0) throw new Error('the sweep does not end')
      if (await store.sweep(retention, now)) await sweepAll(now, left - 1)
    }
    await sweepAll(NOON + 90 * DAY_MS)
    expect(await idsOf({}, 1000)).to.have.length(702)
    await sweepAll(NOON + 91 * DAY_MS)
    expect(await idsOf({}, 1000)).to.deep.equal([kept.requestId])
    expect(await idsOf({ action: 'block' })).to.deep.equal([kept.requestId])
    const all = { groupBy: [], since: 0, until: 1e6, limit: 10 }
    expect((await store.usage(all))[0]?.requests).to.equal(702)
    const series = await store.series({ since: NOON, until: NOON + 24 * HOUR_MS, stepMs: 12 * HOUR_MS })
    expect(series.map(({ requests, blocks, masks }) => [requests, blocks, masks])).to.deep.equal([
      [701, null, null],
      [1, 1, 0],
    ])
    await sweepAll(NOON + 401 * DAY_MS)
    expect((await store.usage(all))[0]?.requests).to.equal(1)
    expect((await store.usage({ ...all, groupBy: ['rule'] }))[0]?.requests).to.equal(1)
  })

  it('keeps the groups that a user was in, and counts a request for each of them', async () => {
    const at = (hours: number, groups: readonly number[], userId = 1) =>
      ledgerRecord({ time: NOON + hours * HOUR_MS, groups, userId })
    const records = [at(0, []), at(1, [3]), at(2, [3, 7]), at(30, [7], 2), at(31, [3, 7])]
    await store.write(records)
    const found = await Promise.all(records.map(({ requestId }) => store.find(requestId)))
    expect(found.map((record) => record?.groups)).to.deep.equal(records.map(({ groups }) => groups))
    const newestFirst = (...indices: readonly number[]) => indices.map((index) => records[index]?.requestId)
    expect(await idsOf({ groupId: 3 })).to.deep.equal(newestFirst(4, 2, 1))
    expect(await idsOf({ groupId: 7, userId: 2, since: NOON })).to.deep.equal(newestFirst(3))
    expect(await idsOf({ groupId: 7, model: 'gpt-4o', until: NOON + 9 * HOUR_MS })).to.deep.equal(
      newestFirst(2),
    )
    expect(await idsOf({ groupId: 8 })).to.deep.equal([])
    const all = { groupBy: [], since: 0, until: 1e6, limit: 10 }
    const usage = async (query: Partial<UsageQuery>) =>
      (await store.usage({ ...all, ...query })).map(({ group, user, requests }) => [group, user, requests])
    expect(await usage({ groupBy: ['group'] })).to.deep.equal([
      [3, undefined, 3],
      [7, undefined, 3],
    ])
    expect(await usage({ groupBy: ['group', 'user'], groupId: 7 })).to.deep.equal([
      [3, 1, 2],
      [7, 1, 2],
      [7, 2, 1],
    ])
    expect(await usage({ groupId: 7 })).to.deep.equal([[undefined, undefined, 3]])
    expect(await usage({ groupId: 8 })).to.deep.equal([])
    expect(await idsOf({ anyGroup: [3] })).to.deep.equal(newestFirst(4, 2, 1))
    expect(await idsOf({ anyGroup: [3, 7, 8] })).to.deep.equal(newestFirst(4, 3, 2, 1))
    expect(await idsOf({ anyGroup: [] })).to.deep.equal([])
    expect(await usage({ anyGroup: [3, 7] }), 'each request counts once').to.deep.equal([
      [undefined, undefined, 4],
    ])
    expect(await usage({ groupBy: ['group'], anyGroup: [3] })).to.deep.equal([[3, undefined, 3]])
    expect(await usage({ groupBy: ['group', 'arm'], anyGroup: [3] })).to.deep.equal([])
    expect(await usage({ anyGroup: [] })).to.deep.equal([])
    for (const stepMs of [60_000, HOUR_MS]) {
      const hours = { since: NOON, until: NOON + 40 * HOUR_MS, stepMs }
      const requestsOf = async (anyGroup: readonly number[]) =>
        (await store.series({ ...hours, anyGroup })).reduce((sum, { requests }) => sum + requests, 0)
      expect([await requestsOf([3]), await requestsOf([3, 7]), await requestsOf([])]).to.deep.equal([3, 4, 0])
    }
    expect(await store.sumCosts({ since: NOON + 1.5 * HOUR_MS, groupId: 3 })).to.deep.equal({
      cost: 2 * 1_250_000,
      unknownCosts: 0,
    })
  })

  it('sums up ranges that begin and end within a day, by caller and by rule', async () => {
    const records = Array.from({ length: 60 }, (_, n) =>
      ledgerRecord({
        time: NOON + n * 1.5 * HOUR_MS,
        userId: 1 + (n % 2),
        keyId: `key_${n % 3}`,
        rules: n % 4 === 0 ? [firewallRule(7)] : [],
      }),
    )
    await store.write(records.slice(0, 30))
    await store.write(records.slice(30))
    const first = NOON / HOUR_MS
    for (const [from, to] of [
      [0, 90],
      [5, 7],
      [5, 30],
      [12, 60],
      [12, 36],
      [17, 90],
    ] as const) {
      const range = { since: first + from, until: first + to, limit: 100 }
      const inRange = (n: number) => Math.floor(n * 1.5) >= from && Math.floor(n * 1.5) < to
      const count = (passes: (n: number) => boolean) =>
        records.filter((_, n) => inRange(n) && passes(n)).length
      const sum = async (query: Partial<UsageQuery>) =>
        (await store.usage({ groupBy: [], ...range, ...query })).map(({ requests }) => requests)
      const title = `${from} to ${to}`
      const nonZero = (...counts: readonly number[]) => counts.filter((value) => value > 0)
      expect(await sum({ groupBy: ['user'] }), title).to.deep.equal(
        nonZero(...[0, 1].map((user) => count((n) => n % 2 === user))),
      )
      expect(await sum({ groupBy: ['key'], userId: 1 }), title).to.deep.equal(
        nonZero(...[0, 1, 2].map((key) => count((n) => n % 2 === 0 && n % 3 === key))),
      )
      expect(await sum({ keyId: 'key_2' }), title).to.deep.equal(nonZero(count((n) => n % 3 === 2)))
      expect(await sum({ groupBy: ['rule'] }), title).to.deep.equal(nonZero(count((n) => n % 4 === 0)))
      expect(await sum({ groupBy: ['rule', 'user'] }), title).to.deep.equal(
        nonZero(count((n) => n % 4 === 0)),
      )
      const byHour = await sum({ groupBy: ['hour', 'user'] })
      expect(
        byHour.reduce((all, requests) => all + requests, 0),
        title,
      ).to.equal(count(() => true))
    }
    const since = NOON + 6.2 * HOUR_MS
    const expected = records.filter((_, n) => n * 1.5 >= 6.2 && n % 3 === 1).length * 1_250_000
    expect((await store.sumCosts({ since, keyId: 'key_1' })).cost).to.equal(expected)
  })

  it('keeps prompts for a shorter time than requests, and deletes those of a user', async () => {
    const at = (day: number, userId: number) =>
      ledgerRecord({ time: NOON + day * DAY_MS, userId, prompt: recordedPrompt(`of user ${userId}`) })
    const [old, young, other] = [at(0, 1), at(10, 1), at(10, 2)]
    const many = Array.from({ length: 250 }, () => at(10, 3))
    const none = ledgerRecord({ time: NOON })
    await store.write([old, young, other, ...many, none])
    const contentOf = async ({ requestId }: LedgerRecord) => (await store.findPrompt(requestId))?.content
    expect(await store.findPrompt(old.requestId)).to.deep.equal({
      ...{ requestId: old.requestId, userId: 1, mode: 'full', omission: null },
      content: recordedPrompt('of user 1').content,
    })
    expect(await store.findPrompt(none.requestId)).to.equal(undefined)
    const retention = { requestDays: 90, promptDays: 30, usageDays: 400 }
    while (await store.sweep(retention, NOON + 31 * DAY_MS));
    expect(await contentOf(old)).to.equal(undefined)
    expect(await store.find(old.requestId)).to.include({ userId: 1 })
    expect((await contentOf(young))?.preferences).to.deep.equal(['of user 1'])
    expect(await store.deletePromptsOf(3)).to.equal(250)
    expect(await store.deletePromptsOf(3)).to.equal(0)
    expect(await store.find(many[0]!.requestId)).to.include({ userId: 3 })
    expect((await contentOf(other))?.preferences).to.deep.equal(['of user 2'])
  })

  it('keeps the prompts of two requests of one id apart', async () => {
    const time = requestIdAt(NOON, 'aaaaaaaaaaaaaaaaa')
    const [one, other] = ['a', 'b'].map((letter) =>
      ledgerRecord({
        requestId: time.slice(0, 15) + letter + time.slice(16),
        prompt: recordedPrompt(letter),
      }),
    )
    await store.write([one!, other!])
    expect((await store.findPrompt(one!.requestId))?.content?.preferences).to.deep.equal(['a'])
    expect((await store.findPrompt(other!.requestId))?.content?.preferences).to.deep.equal(['b'])
  })

  it('writes nothing of a batch that fails', async () => {
    const bad = ledgerRecord({ status: 1.5 })
    const good = ledgerRecord()
    const error = await store.write([good, bad]).catch((thrown: unknown) => thrown)
    expect(error).to.be.instanceOf(Error)
    expect(await store.find(good.requestId)).to.equal(undefined)
    await store.write([good])
    expect((await store.sumCosts({ since: 0 })).cost).to.equal(good.cost)
  })
}

function timeOf({ requestId }: Pick<LedgerRecord, 'requestId'>): number {
  return timeOfRequestId(requestId) ?? 0
}

function recordedPrompt(name: string) {
  const content = { request: { messages: [] }, preferences: [name], defaulted: [], leftOut: [] } as const
  return { mode: 'full', content, omission: null, chars: 10 } as const
}

function firewallRule(id: number, action = 'block'): RuleTraceEntry {
  return { kind: 'firewall', rule_id: id, name: `Rule ${id}`, action, outcome: 'applied' }
}
