import { expect } from 'chai'
import pg from 'pg'
import pino from 'pino'
import { errorMessage } from '../../../../core/util/error-message.ts'
import { openLedgerStore } from '../../../../plugins/ledger/store/store.ts'
import { createThreadLedger } from '../../../../plugins/ledger/store/thread.ts'
import { type RunningPostgres, requirePostgres } from '../../../support/postgres.ts'
import { describeInFull } from '../../../support/rounds.ts'

describeInFull('the thread of a ledger whose tables are locked', () => {
  let server: RunningPostgres

  before(async function () {
    this.timeout(180_000)
    server = await requirePostgres(this)
  })

  after(() => server?.stop())

  it('opens it once, however long that takes', async function () {
    this.timeout(30_000)
    const blocker = await blockTables('log_slow')
    const ledger = createThreadLedger(optionsOf('log_slow'), pino({ level: 'silent' }))
    const find = () => ledger.find('req_0')
    expect(await find().catch(errorMessage)).to.equal('the ledger is still being opened')
    const later = find()
    expect(await countWaiting()).to.equal(1)
    const [first] = await Promise.all([later, blocker.end()])
    expect(first).to.equal(undefined)
    await ledger.close()
  })

  it('ends although the lock has not', async function () {
    this.timeout(30_000)
    const blocker = await blockTables('log_ended')
    const ledger = createThreadLedger(optionsOf('log_ended'), pino({ level: 'silent' }))
    const found = ledger.find('req_0').catch(errorMessage)
    await ledger.close()
    expect(await found).to.be.a('string')
    await blocker.end()
    const next = createThreadLedger(optionsOf('log_ended'), pino({ level: 'silent' }))
    expect(await next.find('req_0')).to.equal(undefined)
    await next.close()
  })

  const optionsOf = (logId: string) => ({
    location: { engine: 'postgres', url: server.url } as const,
    logId,
    retention: { requestDays: 90, promptDays: 30, usageDays: 400 },
    keys: [],
  })

  /** Has whoever opens the ledger wait until the connection ends. */
  async function blockTables(logId: string): Promise<pg.Client> {
    await (await openLedgerStore(optionsOf(logId).location, logId)).close()
    const client = new pg.Client({ connectionString: server.url })
    await client.connect()
    await client.query(`begin; lock table ${logId}.kysely_migration in access exclusive mode`)
    return client
  }

  async function countWaiting(): Promise<number> {
    const { rows } = await server.query("select 1 from pg_stat_activity where wait_event_type = 'Lock'")
    return rows.length
  }
})
