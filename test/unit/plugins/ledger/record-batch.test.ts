import { expect } from 'chai'
import { BatchEncoder, encodeRecords } from '../../../../plugins/ledger/store/batch-encoder.ts'
import type { LedgerRecord } from '../../../../plugins/ledger/store/record.ts'
import { decodeRecords, type EncodedRecords } from '../../../../plugins/ledger/store/record-batch.ts'
import { ledgerRecord } from '../../../support/ledger-records.ts'

const rules = [{ kind: 'firewall', rule_id: 3, name: 'r', action: 'block', outcome: 'applied' }] as const
const error = { code: 'refused', status: 403, message: 'No.' }

const RECORDS: readonly LedgerRecord[] = [
  ledgerRecord({ promptChecksum: 2 ** 53 - 1, times: [0, 1, 2], latencyMs: 0 }),
  ledgerRecord({ rules, cost: null, tokens: null, attempts: [], error, provider: null, model: null }),
  ledgerRecord({ keyId: 'key_2', groups: [1, 2], isStream: true, firstTokenMs: 7, times: [0, 1] }),
  ledgerRecord({ rules, shadowOf: 'req_1', isOwnCopy: true, assumedCost: 5, traceId: 'abc', sessionId: 's' }),
  ledgerRecord({
    deployment: 'east',
    signals: ['cut_off'],
    attempts: [
      { provider: 'openai', model: 'gpt-4o', outcome: 'timeout', ms: 3 },
      { provider: 'openai', model: 'gpt-4o', deployment: 'east', outcome: 'ok', ms: 4, startMs: 3 },
    ],
  }),
  ledgerRecord({
    deployment: 'east',
    attempts: [{ provider: 'openai', model: 'gpt-4o', deployment: 'east', outcome: 'ok', ms: 4, startMs: 3 }],
    router: { version: 1, probability: 0.5, propensity: null },
    prompt: { mode: 'full', chars: 0, content: null, omission: 'too_long' },
  }),
]

/** More than a new batch has room for, with many shared fields of one key. */
const MANY = Array.from({ length: 50 }, (_, n) => ({
  ...RECORDS[n % RECORDS.length]!,
  ...ledgerRecord({ status: 200 + (n % 20) }),
}))

describe('a batch of records', () => {
  it('has the records that were added to it', () => {
    for (const records of [RECORDS, MANY, []])
      expect(decodeRecords(encodeRecords(records)).records()).to.deep.equal(records)
  })

  it('is the same as a message between processes', () => {
    const received: EncodedRecords = JSON.parse(JSON.stringify(encodeRecords(RECORDS)))
    expect(decodeRecords(received).records()).to.deep.equal(RECORDS)
  })

  it('has the fields once that its records share', () => {
    const fields = { rules, groups: [], warnings: [] }
    const records = Array.from({ length: 9 }, (_, n) => ledgerRecord({ ...fields, latencyMs: n }))
    const other = ledgerRecord({ ...fields, keyId: 'key_2' })
    const { shared } = decodeRecords(encodeRecords([...records, other, ledgerRecord(fields)]))
    expect(shared.map(({ keyId }) => keyId)).to.deep.equal(['key_1', 'key_2'])
    expect(shared[0]?.rules).to.equal(shared[1]?.rules)
  })

  it('can be read in part', () => {
    const picked = decodeRecords(encodeRecords(RECORDS)).pick([4, 1])
    expect(picked.records()).to.deep.equal([RECORDS[4], RECORDS[1]])
    expect([...picked.countUses()].filter((uses) => uses > 0)).to.deep.equal([1, 1])
  })

  it('has another record in the place of one that was replaced', () => {
    const encoder = new BatchEncoder()
    for (const record of RECORDS) encoder.add(record)
    const replacement = { ...RECORDS[3]!, status: 503, latencyMs: 9 }
    const plain = ledgerRecord({ requestId: RECORDS[4]!.requestId })
    encoder.replace(3, replacement)
    encoder.replace(4, plain)
    const expected = [...RECORDS.slice(0, 3), replacement, plain, RECORDS[5]]
    expect(decodeRecords(encoder.encode()).records()).to.deep.equal(expected)
  })

  it('refuses what is no number, or has no JSON, and has the other records', () => {
    const encoder = new BatchEncoder()
    const bad = [{ latencyMs: '5' }, { cost: 5n }, { userId: 5n }, { sessionId: 5n }] as unknown[]
    for (const [n, changes] of bad.entries()) {
      encoder.add(RECORDS[n]!)
      expect(() => encoder.add(ledgerRecord(changes as Partial<LedgerRecord>))).to.throw(TypeError)
    }
    expect(decodeRecords(encoder.encode()).records()).to.deep.equal(RECORDS.slice(0, bad.length))
  })
})
