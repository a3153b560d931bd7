import { expect } from 'chai'
import type { RecordedEvent, Upcasts } from '../../../../core/contract/index.ts'
import { decodeEvent, SCHEMA_VERSION } from '../../../../core/events/codec.ts'

/** Two earlier schema versions: first `userId` was called `id`, and in both the type was `UserAdded`. */
const upcasts: Upcasts = {
  [SCHEMA_VERSION - 2]: {
    UserAdded: ({ type, data: { id, ...data } }) => ({ type, data: { ...data, userId: id } }),
  },
  [SCHEMA_VERSION - 1]: {
    UserAdded: ({ data }) => ({ type: 'UserCreated', data }),
  },
}

describe('decodeEvent', () => {
  it('decodes an event of the current schema version', () => {
    const event = decodeEvent(record(SCHEMA_VERSION, 'UserCreated', created))

    expect(event).to.deep.equal({ type: 'UserCreated', data: created })
  })

  it('upcasts an old shape', () => {
    const event = decodeEvent(record(SCHEMA_VERSION - 1, 'UserAdded', created), upcasts)

    expect(event).to.deep.equal({ type: 'UserCreated', data: created })
  })

  it('upcasts an older shape step by step', () => {
    const { userId: id, ...data } = created
    const event = decodeEvent(record(SCHEMA_VERSION - 2, 'UserAdded', { id, ...data }), upcasts)

    expect(event).to.deep.equal({ type: 'UserCreated', data: created })
  })

  it('does not change an old event whose shape is still current', () => {
    const event = decodeEvent(record(SCHEMA_VERSION - 2, 'UserCreated', created), upcasts)

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
  const metadata = { actor: 'admin', time: '2025-03-01T10:00:00.123456Z', schema }
  return { stream: 'user-7', revision: 0, position: 1, type, data, metadata }
}
