import { expect } from 'chai'
import { encodeEvent } from '../../../support/eventstore/encode-event.ts'
import { buildEvent } from '../../../support/eventstore/messages.ts'
import type { StoredEvent } from '../../../support/eventstore/records.ts'
import { MAX_REVISION } from '../../../support/eventstore/store.ts'

const EVENT: StoredEvent = {
  position: 2 ** 41 + 5,
  stream: 'rules-7',
  revision: 300,
  id: '8a3c2f0e-5b1d-4c8e-9f70-112233445566',
  type: 'FirewallRuleCreated',
  contentType: 'application/json',
  data: Buffer.from(`{"name":"Grüße 🚦","text":"${'x'.repeat(20_000)}"}`),
  metadata: Buffer.from('{"actor":"x"}'),
  created: 1_700_000_000_000,
}

describe("the test server's encoding of events", () => {
  for (const [name, changes] of Object.entries({
    'an event': {},
    'the first event of a stream': { revision: 0 },
    'an event without metadata': { metadata: Buffer.alloc(0) },
    'an empty event': { data: Buffer.alloc(0) },
    'a tombstone': { revision: MAX_REVISION, type: '$streamDeleted' },
    'bytes that are no text': { contentType: 'application/octet-stream', data: Buffer.from([0, 255]) },
  }))
    it(`is that of generated code for ${name}`, () => {
      const event = { ...EVENT, ...changes }
      const expected = Buffer.from(buildEvent(event).serializeBinary())

      expect(encodeEvent(event).toString('hex')).to.equal(expected.toString('hex'))
    })
})
