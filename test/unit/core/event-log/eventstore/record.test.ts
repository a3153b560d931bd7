import { expect } from 'chai'
import type { EventMetadata } from '../../../../../core/contract/index.ts'
import { toRecordedEvent } from '../../../../../core/event-log/eventstore/record.ts'
import { metadata } from '../../../../support/event-log-suite.ts'

const EVENT = {
  streamId: 'test-rules-7',
  revision: 3n,
  position: { commit: 500n },
  type: 'FirewallRuleDeleted',
  isJson: true,
  data: { userId: 7, ruleId: 9 },
}

const receive = (metadata: unknown) => toRecordedEvent({ ...EVENT, metadata }, 'test-')

const TIME = '2026-01-31T23:59:59.123456Z'

describe('toRecordedEvent', () => {
  const actor = { type: 'operator', id: 'op_1', name: 'Ada' } as const
  const accepted: Readonly<Record<string, EventMetadata>> = {
    'the usual fields': metadata,
    'a request and a reason': { actor, time: TIME, schema: 1, requestId: 'req_1', reason: 'Grüße' },
    'characters that are escaped': { actor: { ...actor, name: 'A "B" \\ \u0001' }, time: TIME, schema: 1 },
    'an Idempotency-Key': { actor, time: TIME, schema: 1, idempotency: { key: 'k', request: 'r' } },
  }
  for (const [name, value] of Object.entries(accepted))
    it(`accepts metadata with ${name}`, () => {
      expect(receive(value)).to.deep.equal({
        stream: 'rules-7',
        revision: 3,
        position: 500,
        type: 'FirewallRuleDeleted',
        data: { userId: 7, ruleId: 9 },
        metadata: value,
      })
    })

  const usual = { actor, time: TIME, schema: 1, requestId: 'r' }
  for (const other of [
    undefined,
    null,
    new Uint8Array(3),
    { ...usual, actor: { ...actor, type: 'robot' } },
    { ...usual, actor: 'Ada' },
    { ...usual, time: '2026-13-31T23:59:59.123456Z' },
    { ...usual, time: '2026-01-31T25:59:59.123456Z' },
    { ...usual, schema: '1' },
  ])
    it(`refuses ${JSON.stringify(other)}`, () => {
      expect(receive(other)).to.equal(undefined)
    })
})
