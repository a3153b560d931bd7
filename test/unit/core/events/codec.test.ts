import { expect } from 'chai'
import type { RecordedEvent } from '../../../../core/contract/index.ts'
import { ROOT_ACTOR } from '../../../../core/event-log/actor.ts'
import { decodeEvent, SCHEMA_VERSION } from '../../../../core/events/codec.ts'

describe('decodeEvent', () => {
  it('decodes an event of the current schema version', () => {
    const event = decodeEvent(record(SCHEMA_VERSION, 'UserCreated', created))

    expect(event).to.deep.equal({ type: 'UserCreated', data: created })
  })

  it('returns undefined for types and schema versions of newer versions', () => {
    expect(decodeEvent(record(SCHEMA_VERSION, 'InventedLater', {}))).to.equal(undefined)
    expect(decodeEvent(record(SCHEMA_VERSION + 1, 'UserCreated', created))).to.equal(undefined)
    expect(decodeEvent(record(SCHEMA_VERSION, 'toString', {}))).to.equal(undefined)
  })
})

const created = { userId: 7, name: 'Ada', plan: 'paid' }

function record(schema: number, type: string, data: RecordedEvent['data']): RecordedEvent {
  const metadata = { actor: ROOT_ACTOR, time: '2025-03-01T10:00:00.123456Z', schema }
  return { stream: 'user-7', revision: 0, position: 1, type, data, metadata }
}
