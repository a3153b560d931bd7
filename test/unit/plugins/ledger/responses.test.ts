import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { SqliteDatabase } from '../../../../core/event-log/sqlite/database.ts'
import { newLogId } from '../../../../core/util/ids.ts'
import type { LedgerLocation } from '../../../../plugins/ledger/store/database.ts'
import { inBatches } from '../../../../plugins/ledger/store/responses.ts'
import { type LedgerStore, openLedgerStore } from '../../../../plugins/ledger/store/store.ts'
import type { ResponseRow } from '../../../../plugins/ledger/store/tables.ts'
import { makeFolder } from '../../../support/folders.ts'
import { type RunningPostgres, requirePostgres } from '../../../support/postgres.ts'
import { describeInFull } from '../../../support/rounds.ts'

const RETENTION = { requestDays: 90, promptDays: 30, usageDays: 400 }
const LATER = Date.now() + 3_600_000

const row = (id: string, more: Partial<ResponseRow> = {}): ResponseRow => ({
  id,
  user_id: 1,
  key_id: 'key_1',
  expires: LATER,
  data: JSON.stringify({ text: `of ${id}` }),
  ...more,
})

async function sweepAll(store: LedgerStore, now: number): Promise<void> {
  while (await store.sweep(RETENTION, now));
}

describe('stored responses in SQLite', () => {
  let file: string
  behaveAsStored(async () => {
    file = join(await makeFolder(), 'ledger.db')
    return { engine: 'sqlite', file }
  })

  it('are erased from the disk when they are deleted, but not while another connection reads', async () => {
    file = join(await makeFolder(), 'ledger.db')
    const store = await openLedgerStore({ engine: 'sqlite', file }, newLogId())
    const holds = async () => {
      const bytes = Buffer.concat([await readFile(file), await readFile(`${file}-wal`)])
      return bytes.includes('a very private sentence')
    }
    await store.saveResponse(row('one', { data: JSON.stringify('a very private sentence') }))
    const reader = new SqliteDatabase(file)
    reader.exec('BEGIN')
    reader.prepare('SELECT count(*) FROM responses').get()
    await store.deleteResponse('one')
    await sweepAll(store, Date.now())
    expect(await holds()).to.equal(true)
    reader.close()
    await sweepAll(store, Date.now())
    expect(await holds()).to.equal(false)
    await store.close()
  })
})

describeInFull('stored responses in PostgreSQL', () => {
  let server: RunningPostgres

  before(async function () {
    this.timeout(180_000)
    server = await requirePostgres(this)
  })
  after(() => server?.stop())

  behaveAsStored(async () => ({ engine: 'postgres', url: server.url }))
})

function behaveAsStored(locate: () => Promise<LedgerLocation>): void {
  let store: LedgerStore

  beforeEach(async () => {
    store = await openLedgerStore(await locate(), newLogId())
  })
  afterEach(() => store?.close())

  const find = async (...ids: readonly string[]) =>
    (await Promise.all(ids.map((id) => store.findResponse(id)))).map((found) => found?.id)

  it('are found, whatever their text and their size', async () => {
    const data = JSON.stringify({ text: `\0 \ud800 "quoted" ${'ä'.repeat(3_000_000)}` })
    await store.saveResponse(row('large', { data }))
    expect(await store.findResponse('large')).to.deep.equal(row('large', { data }))
    expect(await store.findResponse('unknown')).to.equal(undefined)
  })

  it('are all stored if many are at the same time', async () => {
    const ids = Array.from({ length: 130 }, (_, n) => `r${n}`)
    await Promise.all(ids.map((id) => store.saveResponse(row(id))))
    expect(await find(...ids)).to.deep.equal(ids)
  })

  it('are not found once they have expired, and are then deleted', async () => {
    const expired = Array.from({ length: 120 }, (_, n) => row(`r${n}`, { expires: Date.now() - 1 }))
    await Promise.all([...expired, row('later')].map((each) => store.saveResponse(each)))
    expect(await find('r0', 'later')).to.deep.equal([undefined, 'later'])
    expect(await store.sweep(RETENTION, Date.now())).to.equal(true)
    await sweepAll(store, Date.now())
    expect(await find('later')).to.deep.equal(['later'])
    await sweepAll(store, LATER)
    expect(await find('later')).to.deep.equal([undefined])
  })

  it('are deleted one by one, and with their user', async () => {
    const others = Array.from({ length: 70 }, (_, n) => row(`other${n}`, { user_id: 2 }))
    await Promise.all([row('a'), row('b'), ...others].map((each) => store.saveResponse(each)))
    await store.deleteResponse('a')
    await store.deleteResponse('a')
    await store.forgetUser(2)
    expect(await find('a', 'b', 'other0', 'other69')).to.deep.equal([undefined, 'b', undefined, undefined])
  })
}

describe('writing in batches', () => {
  it('writes at once what arrived while the previous batch was written', async () => {
    const batches: { readonly items: readonly number[]; end(error?: Error): void }[] = []
    const add = inBatches<number>(
      (items) =>
        new Promise((resolve, reject) => {
          batches.push({ items, end: (error) => (error ? reject(error) : resolve()) })
        }),
    )
    const settle = () => new Promise((resolve) => setImmediate(resolve))
    const first = add(1)
    await settle()
    const rest = [add(2), add(3)]
    await settle()
    expect(batches.map(({ items }) => items)).to.deep.equal([[1]])
    batches[0]?.end(new Error('the disk is full'))
    expect(await first.catch((error: Error) => error.message)).to.equal('the disk is full')
    await settle()
    batches[1]?.end()
    await Promise.all(rest)
    expect(batches.map(({ items }) => items)).to.deep.equal([[1], [2, 3]])
  })
})
