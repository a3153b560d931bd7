import { statSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { SqliteDatabase } from '../../../../../core/event-log/sqlite/database.ts'
import { type ExpiringStore, openExpiringStore } from '../../../../../core/event-log/sqlite/expiring-store.ts'
import type { AppendRequest } from '../../../../../core/event-log/sqlite/worker-protocol.ts'

describe('the expiring store', () => {
  let directory: string
  let file: string
  let now: number
  let store: ExpiringStore

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'signalbox-expiring-'))
    file = join(directory, 'responses.db')
    now = 1_000_000
    const request = { file, busyTimeout: 5000, maxPages: undefined } as const
    store = openExpiringStore(request, () => now)
  })
  afterEach(async () => {
    store.close()
    await rm(directory, { recursive: true })
  })

  const append = (stream: string, maxAge: number, text = 'x'): AppendRequest => ({
    stream,
    expectedRevision: -1,
    events: [['Stored', JSON.stringify({ text })]],
    metadata: '{}',
    maxAge,
  })
  const isReadable = (stream: string) => store.readStream({ stream, from: 0 }).rows.length > 0
  const sweepAll = () => {
    while (store.sweep());
    while (store.vacuum());
  }

  it('does not read expired events that have not been swept', () => {
    store.append([append('response-1', 10), append('response-2', 20)])
    now += 10_000
    expect(isReadable('response-1')).to.equal(false)
    expect(isReadable('response-2')).to.equal(true)
  })

  it('sweeps expired events only', () => {
    store.append([append('response-1', 10), append('response-2', 20)])
    now += 10_000
    sweepAll()
    now -= 10_000
    expect(isReadable('response-1')).to.equal(false)
    expect(isReadable('response-2')).to.equal(true)
  })

  it('sweeps in batches', () => {
    store.append(Array.from({ length: 120 }, (_, n) => append(`response-${n}`, 1)))
    now += 1000
    expect([store.sweep(), store.sweep(), store.sweep()]).to.deep.equal([true, true, false])
  })

  it('erases deleted content and returns its space to the file system', async () => {
    const size = () => statSync(file).size
    store.append([append('response-1', 3600, 'a very private sentence')])
    store.append(Array.from({ length: 50 }, (_, n) => append(`response-full-${n}`, 1, 'x'.repeat(100_000))))
    sweepAll()
    now += 1000
    sweepAll()
    const full = size()
    store.deleteStream('response-1')
    sweepAll()
    const bytes = Buffer.concat([await readFile(file), await readFile(`${file}-wal`)])
    expect(bytes.includes('a very private sentence')).to.equal(false)
    expect(full).to.be.lessThan(200_000)
  })

  it('does not wait for readers, and truncates the write-ahead log once they have ended', async () => {
    const walSize = () => statSync(`${file}-wal`).size
    const reader = new SqliteDatabase(file)
    store.append([append('response-1', 3600), append('response-2', 1)])
    reader.exec('BEGIN')
    expect(reader.prepare('SELECT count(*) FROM events').pluck().get()).to.equal(2)
    now += 1000
    sweepAll()
    expect(walSize()).to.be.above(0)

    reader.close()
    sweepAll()
    expect(walSize()).to.equal(0)
  })

  it('reuses a stream name after its events expired', () => {
    store.append([append('response-1', 10)])
    now += 10_000
    sweepAll()
    expect(store.append([append('response-1', 10)])).to.deep.equal([{ revision: 0, position: 2 }])
  })
})
