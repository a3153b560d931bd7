import { expect } from 'chai'
import type { EventMetadata } from '../../../../../core/contract/index.ts'
import { toReceivedEvent } from '../../../../../core/event-log/eventstore/record.ts'
import { toPlainEvent } from '../../../../../core/event-log/stored-event.ts'
import { metadata } from '../../../../support/event-log-suite.ts'

const EVENT = {
  streamId: 'test-rules-7',
  revision: 3,
  commit: 500,
  type: 'FirewallRuleDeleted',
  isJson: true,
  data: '{"userId":7,"ruleId":9}',
  metadata: '',
}

const receive = (text: string) => toReceivedEvent({ ...EVENT, metadata: text }, 'test-')

const TIME = '2026-01-31T23:59:59.123456Z'

describe('toReceivedEvent', () => {
  const actor = { type: 'operator', id: 'op_1', name: 'Ada' } as const
  const accepted: Readonly<Record<string, EventMetadata>> = {
    'the usual fields': metadata,
    'a request and a reason': { actor, time: TIME, schema: 1, requestId: 'req_1', reason: 'Grüße' },
    'characters that are escaped': { actor: { ...actor, name: 'A "B" \\ \u0001' }, time: TIME, schema: 1 },
    'an Idempotency-Key': { actor, time: TIME, schema: 1, idempotency: { key: 'k', request: 'r' } },
  }
  for (const [name, value] of Object.entries(accepted))
    it(`accepts metadata with ${name}, and does not change it`, () => {
      const text = JSON.stringify(value)
      const event = receive(text)

      expect(event?.metadataText()).to.equal(text)
      expect(event && toPlainEvent(event)).to.deep.equal({
        stream: 'rules-7',
        revision: 3,
        position: 500,
        type: 'FirewallRuleDeleted',
        data: { userId: 7, ruleId: 9 },
        metadata: value,
      })
    })

  const usual = JSON.stringify({ actor, time: TIME, schema: 1, requestId: 'r' })
  for (const text of [
    '',
    'null',
    usual.slice(0, -1),
    `${usual}}`,
    usual.replace('"op_1"', '"op_\u0001"'),
    usual.replace('"op_1"', '"op_\\x"'),
    usual.replace('operator', 'robot'),
    usual.replace('2026-01', '2026-13'),
    usual.replace('T23', 'T25'),
    usual.replace(':1,', ':"1",'),
    usual.replace('"Ada"', 'Ada'),
  ])
    it(`refuses ${JSON.stringify(text)}`, () => {
      expect(receive(text)).to.equal(undefined)
    })
})
