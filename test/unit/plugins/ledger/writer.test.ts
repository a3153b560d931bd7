import { expect } from 'chai'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import type { LedgerCalls, RejectedRecord } from '../../../../plugins/ledger/store/methods.ts'
import type { LedgerRecord } from '../../../../plugins/ledger/store/record.ts'
import { decodeRecords } from '../../../../plugins/ledger/store/record-batch.ts'
import { LedgerWriter } from '../../../../plugins/ledger/writer.ts'
import { ledgerRecord } from '../../../support/ledger-records.ts'

const PROMPT = { request: { messages: [] }, preferences: [], defaulted: [], leftOut: [] }

describe('the ledger writer', () => {
  let metrics: Registry
  let done: string[]
  let writes: {
    records: readonly LedgerRecord[]
    end(rejected?: readonly RejectedRecord[]): void
    fail(): void
  }[]
  let writer: LedgerWriter

  /** A ledger whose writes the test ends. */
  const ledger: Pick<LedgerCalls, 'write'> = {
    write: (records) =>
      new Promise((resolve, reject) => {
        writes.push({
          records: decodeRecords(records).records(),
          end: (rejected = []) => resolve(rejected),
          fail: () => reject(new Error('disk I/O error')),
        })
      }),
  }

  beforeEach(() => {
    metrics = new Registry()
    writes = []
    done = []
    writer = new LedgerWriter(ledger, pino({ level: 'silent' }), metrics, (requestIds) =>
      done.push(...requestIds),
    )
  })

  const sizes = () => writes.map(({ records }) => records.length)

  const add = (count: number) => {
    for (let n = 0; n < count; n++) writer.add(ledgerRecord())
  }

  const metricValue = async (name: string) => {
    const line = (await metrics.metrics()).split('\n').find((text) => text.startsWith(`${name} `))
    return Number(line?.split(' ')[1])
  }

  const settle = () => new Promise((resolve) => setImmediate(resolve))

  it('writes a million characters of prompts at once, and drops those beyond 16 millions that wait', async () => {
    const prompt = { mode: 'full', omission: null, content: PROMPT, chars: 300_000 } as const
    for (let n = 0; n < 4; n++) writer.add(ledgerRecord({ prompt }))
    expect(sizes()).to.deep.equal([3])
    writes[0]!.fail()
    await settle()
    for (let n = 0; n < 60; n++) writer.add(ledgerRecord({ prompt }))
    const outcome = async (name: string) => metricValue(`signalbox_ledger_prompts_total{outcome="${name}"}`)
    expect([await outcome('recorded'), await outcome('queue_full')]).to.deep.equal([53, 11])
    const closed = writer.close()
    for (let write = 1; write < writes.length; write++) {
      writes[write]!.end()
      await settle()
    }
    await closed
    expect(sizes().slice(1)).to.deep.equal([...Array(17).fill(3), 13])
  })

  it('writes 1,000 records at once, and what arrives meanwhile with the next batch', async () => {
    add(999)
    expect(sizes()).to.deep.equal([])
    add(1500)
    expect(sizes()).to.deep.equal([1000])
    writes[0]!.end()
    await settle()
    expect(sizes()).to.deep.equal([1000, 1000])
    writes[1]!.end()
    await settle()
    const flushed = writer.flush()
    expect(sizes()).to.deep.equal([1000, 1000, 499])
    writes[2]!.end()
    expect(await flushed).to.equal(true)
    expect(await metricValue('signalbox_ledger_records_total')).to.equal(2499)
  })

  it('writes refusals at once; those that arrive together share a batch', async () => {
    const order: string[] = []
    const first = writer.addNow(ledgerRecord()).then(() => order.push('first'))
    const others = [1, 2].map((n) => writer.addNow(ledgerRecord()).then(() => order.push(`other ${n}`)))
    expect(sizes()).to.deep.equal([1])
    writes[0]!.end()
    await first
    expect(order).to.deep.equal(['first'])
    expect(sizes()).to.deep.equal([1, 2])
    writes[1]!.end()
    await Promise.all(others)
  })

  it('waits no longer once the ledger has failed, keeps a bounded number, and counts the rest', async () => {
    const refused = writer.addNow(ledgerRecord())
    writes[0]!.fail()
    expect(await refused).to.equal(false)
    expect(writer.isAvailable).to.equal(false)
    expect(await writer.addNow(ledgerRecord())).to.equal(false)
    add(20_000)
    expect(sizes()).to.deep.equal([1])
    expect(await metricValue('signalbox_ledger_waiting_records')).to.equal(20_000)
    expect(await metricValue('signalbox_ledger_dropped_total{reason="queue_full"}')).to.equal(2)
    expect(await metricValue('signalbox_ledger_up')).to.equal(0)
  })

  it('writes what has waited when it closes, and counts what it cannot', async () => {
    add(3)
    const closed = writer.close()
    expect(sizes()).to.deep.equal([3])
    writes[0]!.fail()
    await closed
    expect(await metricValue('signalbox_ledger_dropped_total{reason="shutdown"}')).to.equal(3)
  })

  it('counts the records that the database does not accept, and writes what budgets need of them', async () => {
    const record = ledgerRecord({ groups: [2] })
    const rejected = [{ requestId: record.requestId, reason: 'SQLITE_CONSTRAINT' }]
    const written = writer.addNow(record)
    writes[0]!.end(rejected)
    expect(await written).to.equal(false)
    expect(done).to.deep.equal([])
    writer.replace({ ...record, status: 503 })
    const flushed = writer.flush()
    const { userId, keyId, groups, cost, status } = writes[1]!.records[0]!
    expect({ userId, keyId, groups, cost, status }).to.deep.equal({
      ...{ userId: 1, keyId: 'key_1', groups: [2], cost: 1_250_000, status: 500 },
    })
    writes[1]!.end()
    expect(await flushed).to.equal(true)
    expect(done).to.deep.equal([record.requestId])
    expect(await metricValue('signalbox_ledger_dropped_total{reason="rejected"}')).to.equal(1)
    expect(await metricValue('signalbox_ledger_records_total')).to.equal(1)
  })

  it('gives up a record of which not even the cost can be stored', async () => {
    const record = ledgerRecord()
    const rejected = [{ requestId: record.requestId, reason: 'SQLITE_CONSTRAINT' }]
    const written = writer.addNow(record)
    writes[0]!.end(rejected)
    await written
    const flushed = writer.flush()
    writes[1]!.end(rejected)
    await flushed
    expect(writes).to.have.length(2)
    expect(await writer.flush()).to.equal(true)
    expect(done).to.deep.equal([])
  })
})
