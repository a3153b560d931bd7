import { expect } from 'chai'
import { type JsonObject, type RecordedEvent, Type } from '../../../../core/contract/index.ts'
import { ROOT_ACTOR } from '../../../../core/event-log/actor.ts'
import { SCHEMA_VERSION } from '../../../../core/events/codec.ts'
import {
  createEventRegistry,
  createFold,
  defineEvent,
  type EventOf,
  Id,
  streamCategory,
} from '../../../../core/events/define-event.ts'

interface Lamp {
  readonly isOn: boolean
}

const lampStream = streamCategory('lamp-', 'lampId')

const lampEvents = [
  defineEvent({
    type: 'LampBought',
    schema: Type.Object({ lampId: Id, shop: Type.String() }),
    stream: lampStream,
    audit: null,
    assigns: ({ lampId }) => lampId,
    create: (): Lamp => ({ isOn: false }),
  }),
  defineEvent({
    type: 'LampSwitched',
    schema: Type.Object({ lampId: Id, isOn: Type.Boolean() }),
    stream: lampStream,
    audit: ({ isOn }) => ({ kind: 'lamp', change: isOn ? 'on' : 'off', id: 'lampId' }),
    fold: (lamp: Lamp, { isOn }) => ({ ...lamp, isOn }),
  }),
  defineEvent({
    type: 'LampBroken',
    schema: Type.Object({ lampId: Id }),
    stream: [lampStream, 'waste'],
    audit: { kind: 'lamp', change: 'broken' },
    isUrgent: true,
    fold: () => undefined,
  }),
] as const

type LampEvent = EventOf<typeof lampEvents>

describe('createEventRegistry', () => {
  const registry = createEventRegistry(lampEvents)

  it('decodes the events that are declared, of known versions', () => {
    const data = { lampId: 3, isOn: true }
    expect(registry.decode(record('LampSwitched', data))).to.deep.equal({ type: 'LampSwitched', data })
    expect(registry.decode(record('LampSwitched', data, SCHEMA_VERSION + 1))).to.equal(undefined)
    expect(registry.decode(record('LampPainted', data))).to.equal(undefined)
    expect(registry.decode(record('toString', data))).to.equal(undefined)
  })

  it('finds events whose data is not of the declared form, or which are in the stream of another', () => {
    const isWellFormed = (data: object, stream: string) =>
      registry.isWellFormed({ type: 'LampBought', data } as LampEvent, { stream })

    expect(isWellFormed({ lampId: 3, shop: 'Ikea' }, 'lamp-3')).to.equal(true)
    expect(isWellFormed({ lampId: 3, shop: 'Ikea', colour: 'red' }, 'lamp-3'), 'a new field').to.equal(true)
    expect(isWellFormed({ lampId: 3, shop: 'Ikea' }, 'lamp-4')).to.equal(false)
    expect(isWellFormed({ lampId: 3 }, 'lamp-3')).to.equal(false)
    for (const lampId of ['3', 0, -3, 1.5, 2 ** 53, null])
      expect(isWellFormed({ lampId, shop: 'Ikea' }, `lamp-${lampId}`), String(lampId)).to.equal(false)
  })

  it('accepts an event in each of its streams', () => {
    const broken = { type: 'LampBroken', data: { lampId: 3 } } as const
    const streams = ['lamp-3', 'waste', 'lamp-4', 'lamp-'].filter((stream) =>
      registry.isWellFormed(broken, { stream }),
    )
    expect(streams).to.deep.equal(['lamp-3', 'waste'])
  })

  it('lists what the log has to know', () => {
    expect(registry.types).to.deep.equal(['LampBought', 'LampBroken', 'LampSwitched'])
    expect(registry.streams).to.deep.equal(['lamp-', 'waste'])
    expect(registry.urgentTypes).to.deep.equal(['LampBroken'])
  })

  it('refuses two events of the same type', () => {
    expect(() => createEventRegistry([...lampEvents, ...lampEvents])).to.throw('LampBought is declared twice')
  })

  it('says how the audit trail shows an event, and which id it assigns', () => {
    const subjectOf = (type: string, data: object) => registry.find(type)?.auditSubject(data)
    expect(subjectOf('LampBought', {})).to.equal(undefined)
    expect(subjectOf('LampSwitched', { isOn: true })).to.include({ change: 'on', id: 'lampId' })
    expect(subjectOf('LampBroken', {})).to.deep.equal({ kind: 'lamp', change: 'broken' })
    expect(registry.find('LampBought')?.assigns({ lampId: 3 })).to.equal(3)
    expect(registry.find('LampBroken')?.assigns({ lampId: 3 })).to.equal(undefined)
  })
})

describe('createFold', () => {
  const foldLamp = createFold<LampEvent, Lamp>(lampEvents)
  const entry = { revision: 0, position: 1, metadata: { time: '2025-03-01T10:00:00.123456Z' } }
  const switched = { type: 'LampSwitched', data: { lampId: 3, isOn: true } } as const
  const bought = { type: 'LampBought', data: { lampId: 3, shop: 'Ikea' } } as const

  it('begins, changes and ends a state', () => {
    const lamp = foldLamp(undefined, bought, entry)
    expect(lamp).to.deep.equal({ isOn: false })
    expect(foldLamp(lamp, switched, entry)).to.deep.equal({ isOn: true })
    expect(foldLamp(lamp, { type: 'LampBroken', data: { lampId: 3 } }, entry)).to.equal(undefined)
  })

  it('ignores a change of a state that does not exist', () => {
    expect(foldLamp(undefined, switched, entry)).to.equal(undefined)
  })

  it('tells the events of the family', () => {
    expect(foldLamp.has(switched)).to.equal(true)
    expect(foldLamp.has({ type: 'UserCreated', data: {} })).to.equal(false)
  })
})

function record(type: string, data: JsonObject, schema = SCHEMA_VERSION): RecordedEvent {
  const metadata = { actor: ROOT_ACTOR, time: '2025-03-01T10:00:00.123456Z', schema }
  return { stream: 'lamp-3', revision: 0, position: 1, type, data, metadata }
}
