import { expect } from 'chai'
import type { RecordedEvent, Upcasts } from '../../../../core/contract/index.ts'
import { decodeEvent, SCHEMA_VERSION } from '../../../../core/events/codec.ts'

/** Two steps back from today's schema: first the limit was a field of its own name, then the type had another name. */
const upcasts: Upcasts = {
  [SCHEMA_VERSION - 2]: {
    UserAdded: ({ type, data: { id, ...data } }) => ({ type, data: { ...data, userId: id } }),
  },
  [SCHEMA_VERSION - 1]: {
    UserAdded: ({ data }) => ({ type: 'UserCreated', data }),
  },
}

describe('decodeEvent', () => {
  it("reads an event of today's schema as it stands", () => {
    const event = decodeEvent(record(SCHEMA_VERSION, 'UserCreated', created))

    expect(event).to.deep.equal({ type: 'UserCreated', data: created })
  })

  it('reads an old shape through the function for it', () => {
    const event = decodeEvent(record(SCHEMA_VERSION - 1, 'UserAdded', created), upcasts)

    expect(event).to.deep.equal({ type: 'UserCreated', data: created })
  })

  it('reads a shape that is older still through one function after the other', () => {
    const { userId: id, ...data } = created
    const event = decodeEvent(record(SCHEMA_VERSION - 2, 'UserAdded', { id, ...data }), upcasts)

    expect(event).to.deep.equal({ type: 'UserCreated', data: created })
  })

  it('leaves an old event alone whose shape has not changed', () => {
    const event = decodeEvent(record(SCHEMA_VERSION - 2, 'UserCreated', created), upcasts)

    expect(event).to.deep.equal({ type: 'UserCreated', data: created })
  })

  it('gives nothing for what only a newer node knows', () => {
    expect(decodeEvent(record(SCHEMA_VERSION, 'InventedLater', {}))).to.equal(undefined)
    expect(decodeEvent(record(SCHEMA_VERSION + 1, 'UserCreated', created))).to.equal(undefined)
    expect(decodeEvent(record(SCHEMA_VERSION, 'toString', {}))).to.equal(undefined)
  })
})

const created = { userId: 7, name: 'Ada', plan: 'paid' }

function record(schema: number, type: string, data: RecordedEvent['data']): RecordedEvent {
  const metadata = { actor: 'admin', time: '2025-03-01T10:00:00.123456Z', schema }
  return { stream: 'user-7', revision: 0, position: 1, type, data, metadata }
}
