import { expect } from 'chai'
import { ROOT_ACTOR } from '../../../core/event-log/actor.ts'
import type { DomainEvent } from '../../../projections/events/registry.ts'
import { createIdempotentRequests } from '../../../projections/idempotency.ts'

const HOUR = 60 * 60 * 1000
const START = Date.parse('2026-03-01T00:00:00Z')

describe('requests with an Idempotency-Key', () => {
  let now = START
  const create = () => createIdempotentRequests(() => now)
  let requests = create()

  beforeEach(() => {
    now = START
    requests = create()
  })

  function apply(event: DomainEvent, request: string, { stream = 'user-7', revision = 0, key = 'k' } = {}) {
    const time = new Date(now).toISOString()
    const metadata = { actor: ROOT_ACTOR, time, schema: 1, idempotency: { key, request } }
    requests.apply(event, { ...event, stream, revision, position: 1, metadata })
  }
  const reserved: DomainEvent = { type: 'IdsReserved', data: { first: 7, count: 2 } }
  const created: DomainEvent = { type: 'UserCreated', data: { userId: 7, name: 'Ada', plan: 'paid' } }

  it('are known by their reserved ids, and then by their first event', () => {
    apply(reserved, 'a request', { stream: 'ids' })
    expect(requests.find('k'))
      .to.include({ firstId: 7, request: 'a request' })
      .and.not.have.property('change')
    apply(created, 'a request', { revision: 3 })
    apply(created, 'a request', { revision: 4 })
    expect(requests.find('k')).to.deep.include({ firstId: 7, change: { stream: 'user-7', revision: 3 } })
  })

  it('are forgotten after 24 hours, and their keys can be used again', () => {
    apply(created, 'a request')
    now += 24 * HOUR - 1
    expect(requests.find('k')).to.include({ request: 'a request' })
    now += 1
    expect(requests.find('k')).to.equal(undefined)
    apply(reserved, 'another request', { stream: 'ids' })
    expect(requests.find('k')).to.include({ request: 'another request' }).and.not.have.property('change')
  })

  it('are saved with the state, without those that are forgotten', () => {
    apply(created, 'old', { key: 'old' })
    now += 25 * HOUR
    apply(created, 'new', { key: 'new' })
    const restored = create()
    restored.load([...requests.save()].map((line) => Buffer.from(line)))

    expect([...restored.save()]).to.have.length(1)
    expect(restored.find('new')).to.deep.equal(requests.find('new'))
  })
})
