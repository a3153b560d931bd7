import { expect } from 'chai'
import { encodeRecords } from '../../../../plugins/ledger/store/batch-encoder.ts'
import type { LedgerRecord } from '../../../../plugins/ledger/store/record.ts'
import { decodeRecords } from '../../../../plugins/ledger/store/record-batch.ts'
import { TailBuffer } from '../../../../plugins/ledger/store/tail.ts'
import { ledgerRecord } from '../../../support/ledger-records.ts'

const NOW = Date.UTC(2026, 10, 22)

const records = (count: number) => Array.from({ length: count }, () => ledgerRecord())

const batchOf = (list: readonly LedgerRecord[]) => decodeRecords(encodeRecords(list))

describe('the records that were written last', () => {
  it('are returned once, in the order in which they were written', () => {
    const tail = new TailBuffer()
    tail.add(batchOf(records(3)), NOW)
    const { next, ...first } = tail.read(undefined, NOW)
    expect(first).to.deep.equal({ records: [], dropped: 0 })
    const written = records(2)
    tail.add(batchOf(written), NOW)
    const second = tail.read(next, NOW)
    expect(second.records.map(({ requestId }) => requestId)).to.deep.equal(
      written.map(({ requestId }) => requestId),
    )
    expect(tail.read(second.next, NOW)).to.deep.equal({ records: [], next: second.next, dropped: 0 })
  })

  it('never have a prompt', () => {
    const tail = new TailBuffer()
    const { next } = tail.read(undefined, NOW)
    tail.add(
      batchOf([ledgerRecord({ prompt: { mode: 'full', chars: 0, content: null, omission: 'too_long' } })]),
      NOW,
    )
    expect(tail.read(next, NOW).records[0]).to.not.have.property('prompt')
  })

  it('are counted beyond a limit, and while nobody watches', () => {
    const tail = new TailBuffer()
    const { next } = tail.read(undefined, NOW)
    tail.add(batchOf(records(2500)), NOW)
    const full = tail.read(next, NOW)
    expect([full.records.length, full.dropped]).to.deep.equal([2000, 500])
    tail.add(batchOf(records(5)), NOW + 60_000)
    expect(tail.read(full.next, NOW + 60_000)).to.deep.include({ records: [], dropped: 5 })
  })
})
