import { readdir } from 'node:fs/promises'
import path from 'node:path'
import { expect } from 'chai'
import { SqliteDatabase } from '../../../../../core/event-log/sqlite/database.ts'
import { isDamageError } from '../../../../../core/event-log/sqlite/set-aside.ts'
import { newLogId, requestIdAt } from '../../../../../core/util/ids.ts'
import { ServedLedger } from '../../../../../plugins/ledger/store/served-ledger.ts'
import { makeFolder } from '../../../../support/folders.ts'
import { ledgerRecord } from '../../../../support/ledger-records.ts'

const LOG_ID = newLogId()

const KEPT = requestIdAt(Date.UTC(2026, 2, 10))

describe('a healthy ledger.db', () => {
  let folder: string
  let file: string
  beforeEach(async () => {
    folder = await makeFolder()
    file = path.join(folder, 'ledger.db')
    const ledger = serve()
    await ledger.run((store) => store.write([ledgerRecord({ requestId: KEPT })]))
    await ledger.close()
  })

  const serve = () =>
    new ServedLedger(
      {
        location: { engine: 'sqlite', file },
        logId: LOG_ID,
        retention: { requestDays: 30, promptDays: 30, usageDays: 30 },
        keys: [],
        isWriter: true,
        owner: 1,
      },
      {
        onSetAside: () => expect.fail('the file was set aside'),
        onForeign: () => expect.fail('the file was taken for that of another log'),
      },
    )

  async function expectKept(): Promise<void> {
    expect((await readdir(folder)).filter((name) => name.endsWith('.db'))).to.deep.equal(['ledger.db'])
    const ledger = serve()
    expect(await ledger.run((store) => store.find(KEPT))).to.include({ requestId: KEPT })
    await ledger.close()
  }

  it('stays when another version has written it', async () => {
    const database = new SqliteDatabase(file)
    database.exec("INSERT INTO kysely_migration VALUES ('999-future', '2027-01-01T00:00:00.000Z')")
    database.close()
    const error = await serve()
      .opened()
      .catch((thrown) => thrown)
    expect(error.message).to.contain('999-future')
    const again = new SqliteDatabase(file)
    again.exec("DELETE FROM kysely_migration WHERE name = '999-future'")
    again.close()
    await expectKept()
  })
})

describe('isDamageError', () => {
  const error = (code: string) => new SqliteDatabase.SqliteError('it failed', code)

  for (const reason of [
    'BUSY',
    'BUSY_SNAPSHOT',
    'LOCKED',
    'FULL',
    'CANTOPEN',
    'CANTOPEN_ISDIR',
    'PERM',
    'AUTH',
  ])
    it(`is not SQLITE_${reason}`, () => expect(isDamageError(error(`SQLITE_${reason}`))).to.equal(false))

  for (const reason of ['READONLY', 'READONLY_DBMOVED', 'PROTOCOL', 'NOMEM', 'INTERRUPT', 'SCHEMA', 'NOLFS'])
    it(`is not SQLITE_${reason}`, () => expect(isDamageError(error(`SQLITE_${reason}`))).to.equal(false))

  for (const reason of ['IOERR', 'IOERR_WRITE', 'IOERR_FSYNC', 'IOERR_LOCK', 'IOERR_SHMMAP', 'IOERR_ACCESS'])
    it(`is not SQLITE_${reason}`, () => expect(isDamageError(error(`SQLITE_${reason}`))).to.equal(false))

  for (const reason of ['CORRUPT', 'CORRUPT_INDEX', 'NOTADB', 'IOERR_READ', 'IOERR_SHORT_READ'])
    it(`is SQLITE_${reason}`, () => expect(isDamageError(error(`SQLITE_${reason}`))).to.equal(true))

  it('is not an error of the file system', () => {
    expect(isDamageError(Object.assign(new Error('EACCES'), { code: 'EACCES' }))).to.equal(false)
  })
})
