import path from 'node:path'
import { expect } from 'chai'
import pg from 'pg'
import { requestIdAt } from '../../../../core/util/ids.ts'
import type { LedgerLocation } from '../../../../plugins/ledger/store/database.ts'
import { DAY_MS } from '../../../../plugins/ledger/store/record-id.ts'
import { type LedgerStore, openLedgerStore } from '../../../../plugins/ledger/store/store.ts'
import type { NewToolCall } from '../../../../plugins/ledger/store/tool-calls.ts'
import { makeFolder } from '../../../support/folders.ts'
import { ledgerRecord } from '../../../support/ledger-records.ts'
import { type RunningPostgres, requirePostgres } from '../../../support/postgres.ts'
import { describeInFull } from '../../../support/rounds.ts'
import { waitUntil } from '../../../support/wait.ts'

const LOG = 'log_queue'
const RETENTION = { requestDays: 90, promptDays: 30, usageDays: 400 }
const CLAIM = { name: 'file', owner: 'one', leaseMs: 60_000, pageSize: 100 }

/** A call that lasted from long ago until now. */
function toolCall(): NewToolCall {
  const time = Date.now() - DAY_MS
  return {
    ...{ id: requestIdAt(time), time: new Date(time).toISOString(), userId: 1, keyId: 'key_1', groups: [] },
    ...{ server: 'files', tool: 'read', argumentsDigest: '', verdict: 'allowed' },
    ...{ rules: [], warnings: [], requestBytes: 2, resultBytes: 4, durationMs: 1, upstreamMs: 1 },
    ...{ rulesPosition: 1, read: [] },
  }
}

/** Reads pages as an exporter does, until there is nothing left. */
async function readAll(store: LedgerStore, after: number, limit = 7): Promise<readonly string[]> {
  const ids: string[] = []
  for (let next = after; ; ) {
    const page = await store.readExport({ after: next, upTo: Number.MAX_SAFE_INTEGER, limit })
    if (page.next === next) return ids
    for (const { kind, record } of page.records) ids.push(kind === 'request' ? record.requestId : record.id)
    next = page.next
  }
}

describe('the queue of the ledger export on SQLite', () => {
  behavesAsQueue(async () => ({ engine: 'sqlite', file: path.join(await makeFolder(), 'ledger.db') }))
})

describeInFull('the queue of the ledger export on PostgreSQL', () => {
  let server: RunningPostgres
  before(async function () {
    this.timeout(60_000)
    server = await requirePostgres(this)
  })
  after(() => server?.stop())

  const locate = async (): Promise<LedgerLocation> => {
    await server.emptyLedger(LOG)
    return { engine: 'postgres', url: server.url }
  }

  behavesAsQueue(locate)

  it('numbers each record of several writers once', async () => {
    const location = await locate()
    const writers: LedgerStore[] = []
    for (let writer = 0; writer < 4; writer++) writers.push(await openLedgerStore(location, LOG))
    const reader = await openLedgerStore(location, LOG)
    const { position } = await reader.claimExport(CLAIM)
    const written = writers.map((store, writer) =>
      Array.from({ length: 15 }, async (_, batch) => {
        const records = Array.from({ length: 1 + ((batch * 7) % 23) }, () => ledgerRecord({ userId: writer }))
        const calls = batch % 3 === 0 ? [toolCall()] : []
        await Promise.all([store.write(records), calls.length > 0 && store.saveToolCalls(calls)])
        return [...records.map(({ requestId }) => requestId), ...calls.map(({ id }) => id)]
      }),
    )
    let isWritten = false
    const writing = Promise.all(written.flat()).then((ids) => {
      isWritten = true
      return ids.flat()
    })
    // Reads while others write, and never looks back.
    const seen: string[] = []
    for (let next = position, isLast = false; !isLast; ) {
      isLast = isWritten
      const page = await reader.readExport({ after: next, upTo: Number.MAX_SAFE_INTEGER, limit: 1000 })
      for (const { kind, record } of page.records)
        seen.push(kind === 'request' ? record.requestId : record.id)
      next = page.next
    }
    expect(seen).to.have.members(await writing)
    expect(new Set(seen).size).to.equal(seen.length)
    await Promise.all([...writers, reader].map((store) => store.close()))
  })

  it('shows no record before those of a transaction that has earlier numbers and commits later', async () => {
    const location = await locate()
    const [slow, fast] = [await openLedgerStore(location, LOG), await openLedgerStore(location, LOG)]
    const { position } = await fast.claimExport(CLAIM)
    const blocker = new pg.Client({ connectionString: server.url })
    blocker.on('error', () => undefined)
    await blocker.connect()
    // A transaction that has numbered calls of tools waits before it commits.
    await blocker.query(`select pg_advisory_lock(7);
      create function ${LOG}.wait() returns trigger language plpgsql as $$ begin
        if new.kind = 'tool_call' then perform pg_advisory_xact_lock(7); end if; return new;
      end $$;
      create trigger wait after insert on ${LOG}.export_parts for each row execute function ${LOG}.wait()`)
    const countWaiting = async () =>
      Number((await server.query('select count(*) from pg_locks where not granted')).rows[0].count)
    const [call, record] = [toolCall(), ledgerRecord()]
    const slowly = slow.saveToolCalls([call])
    await waitUntil(async () => (await countWaiting()) === 1)
    let isWritten = false
    const fastly = fast.write([record]).then(() => {
      isWritten = true
    })
    await waitUntil(async () => isWritten || (await countWaiting()) === 2)
    const early = await fast.readExport({ after: position, upTo: Number.MAX_SAFE_INTEGER, limit: 10 })
    await blocker.query('select pg_advisory_unlock(7)')
    await Promise.all([slowly, fastly])
    const late = await readAll(fast, early.next)
    expect([early.records.length, ...late]).to.deep.equal([0, call.id, record.requestId])
    await blocker.query(`drop function ${LOG}.wait() cascade`)
    await Promise.all([blocker.end(), slow.close(), fast.close()])
  })
})

function behavesAsQueue(locate: () => Promise<LedgerLocation>): void {
  let location: LedgerLocation
  let store: LedgerStore
  beforeEach(async () => {
    location = await locate()
    store = await openLedgerStore(location, LOG)
  })
  afterEach(() => store?.close())

  it('has records in the order in which they were written, from the registration of a target on', async () => {
    await store.write([ledgerRecord()])
    const { position, isOwner, last, oldest } = await store.claimExport(CLAIM)
    expect({ isOwner, last, oldest }).to.deep.equal({ isOwner: true, last: position, oldest: null })
    // Numbers do not repeat those of a ledger that was begun anew.
    expect(position).to.be.above(Date.UTC(2026, 0) * 1000)
    const late = ledgerRecord({ time: Date.now() - DAY_MS })
    const many = Array.from({ length: 250 }, () => ledgerRecord())
    const calls = [toolCall(), toolCall()]
    await store.write([ledgerRecord(), late])
    await store.saveToolCalls(calls)
    await store.write(many)
    // Writing the same again adds nothing.
    await store.write([late, ...many.slice(0, 3)])
    await store.saveToolCalls(calls)
    const ids = await readAll(store, position)
    expect(ids).to.have.length(254)
    expect(ids.slice(1, 4)).to.deep.equal([late.requestId, ...calls.map(({ id }) => id)])
    expect(ids.slice(4)).to.deep.equal(many.map(({ requestId }) => requestId))
    const state = await store.claimExport(CLAIM)
    expect(state.last - position).to.equal(254)
    expect(state.oldest).to.be.within(Date.now() - 60_000, Date.now())
    const page = await store.readExport({ after: position, upTo: state.last, limit: 1000 })
    expect(page.records.map(({ number }) => number - position)).to.deep.equal(
      Array.from({ length: 254 }, (_, index) => index + 1),
    )
  })

  it('ends a page where a part of a batch ends', async () => {
    const { position } = await store.claimExport(CLAIM)
    await store.write(Array.from({ length: 90 }, () => ledgerRecord()))
    await store.write(Array.from({ length: 90 }, () => ledgerRecord()))
    const endOf = async (pageSize: number) =>
      (await store.claimExport({ ...CLAIM, pageSize })).pageEnd - position
    expect([await endOf(1), await endOf(100), await endOf(180)]).to.deep.equal([90, 90, 180])
    const page = await store.readExport({ after: position, upTo: position + 90, limit: 1000 })
    expect([page.records.length, page.next - position]).to.deep.equal([90, 90])
  })

  it('gives a target to one owner, until its lease ends or it is given up', async () => {
    const { position } = await store.claimExport(CLAIM)
    const other = { ...CLAIM, owner: 'two' }
    expect((await store.claimExport(other)).isOwner).to.equal(false)
    const progress = { name: 'file', position: position + 5, pending: position + 9 }
    expect(await store.saveExport({ ...progress, owner: 'two' })).to.equal(false)
    expect(await store.saveExport({ ...progress, owner: 'one' })).to.equal(true)
    expect((await store.claimExport({ ...CLAIM, leaseMs: 0 })).isOwner).to.equal(false)
    expect(await store.claimExport({ ...other, leaseMs: 1 })).to.include({
      isOwner: true,
      position: position + 5,
      pending: position + 9,
    })
    await waitUntil(async () => (await store.claimExport(CLAIM)).isOwner)
    expect(await store.saveExport({ ...progress, owner: 'two' })).to.equal(false)
  })

  it('forgets what every target has, and what is older than records are kept', async () => {
    const slow = { ...CLAIM, name: 'slow' }
    const { position } = await store.claimExport(CLAIM)
    await store.claimExport(slow)
    const records = [ledgerRecord(), ledgerRecord()]
    for (const record of records) await store.write([record])
    await store.saveExport({ name: 'file', owner: 'one', position: position + 2, pending: null })
    await store.saveExport({ name: 'slow', owner: 'one', position: position + 1, pending: null })
    const sweep = async (now: number) => {
      while (await store.sweep(RETENTION, now));
    }
    await sweep(Date.now())
    expect(await readAll(store, position)).to.deep.equal([records[1]?.requestId])
    await sweep(Date.now() + 92 * DAY_MS)
    expect(await readAll(store, position)).to.deep.equal([])
    // Its position is forgotten, too, as no process has asked for it.
    expect((await store.claimExport(CLAIM)).position).to.equal(position + 2)
  })

  it('says of records that were deleted only where they were', async () => {
    const { position } = await store.claimExport(CLAIM)
    await store.write([ledgerRecord({ time: Date.now() - 100 * DAY_MS }), ledgerRecord()])
    while (await store.sweep(RETENTION, Date.now()));
    const page = await store.readExport({ after: position, upTo: position + 2, limit: 10 })
    expect(page.records.map(({ number }) => number - position)).to.deep.equal([2])
    expect(page.next - position).to.equal(2)
  })
}
