import { expect } from 'chai'
import type { DomainEvent } from '../../../core/events/codec.ts'
import type { RouterScope } from '../../../core/events/router-events.ts'
import { isWellFormed } from '../../../core/events/well-formed.ts'
import { createRouters, type Routers } from '../../../projections/routers.ts'
import { recordAll } from '../../support/histories.ts'

const EVERYONE = { everyone: true } as const
const GROUP = { groupId: 7 } as const

const trained = (version: number, scope: RouterScope = EVERYONE): DomainEvent => ({
  type: 'RouterTrained',
  data: {
    version,
    scope,
    models: { 'gpt-x': { ratings: 120, weights: 'AAAA' } },
    figures: {},
    trainedFrom: { ratings: 120 },
    featureKeyId: 'k',
    checksum: 'c',
  },
})
const activated = (version: number, scope: RouterScope = EVERYONE): DomainEvent => ({
  type: 'RouterActivated',
  data: { version, scope },
})
const rolledBack = (from: number, version: number | null): DomainEvent => ({
  type: 'RouterRolledBack',
  data: { scope: EVERYONE, from, version },
})

function fold(...events: DomainEvent[]): Routers {
  const routers = createRouters()
  for (const [index, record] of recordAll(events).entries())
    routers.apply(events[index] as DomainEvent, record)
  return routers
}

describe('versions of routers', () => {
  it('are listed, with the one that is active in each scope', () => {
    const routers = fold(trained(1), trained(2, GROUP), activated(1), activated(2, GROUP))

    expect(routers.versions().map(({ version }) => version)).to.deep.equal([1, 2])
    expect(routers.activationsOf(EVERYONE)).to.deep.equal([1])
    expect(routers.activationsOf(GROUP)).to.deep.equal([2])
    expect(routers.nextVersion()).to.equal(3)
    expect(routers.revision()).to.equal(3)
  })

  it('are rolled back to the one that was active before, then to none', () => {
    const events = [trained(1), trained(2), activated(1), activated(2), rolledBack(2, 1)]

    expect(fold(...events).activationsOf(EVERYONE)).to.deep.equal([1])
    expect(fold(...events, rolledBack(1, null)).activationsOf(EVERYONE)).to.deep.equal([])
  })

  it('do not change when another program writes one again', () => {
    const again: DomainEvent = {
      type: 'RouterTrained',
      data: { ...trained(1).data, checksum: 'other' } as never,
    }

    const routers = fold(trained(1), activated(1), again)
    expect(routers.version(1)).to.include({ checksum: 'c', position: fold(trained(1)).version(1)?.position })
    expect(routers.revision()).to.equal(2)
  })

  it('lose their weights when they are old, unless they were active lately', () => {
    const routers = fold(trained(1), activated(1), ...[2, 3, 4, 5, 6, 7].map((version) => trained(version)))

    const kept = routers.versions().filter(({ isKept }) => isKept)
    expect(kept.map(({ version }) => version)).to.deep.equal([1, 4, 5, 6, 7])
    expect(routers.version(2)?.models).to.deep.equal({ 'gpt-x': { ratings: 120, weights: '' } })
  })

  it('are saved and loaded, also while events are applied', () => {
    const routers = fold(trained(1), trained(2), activated(1), activated(2))
    const saved = routers.save()
    const [later] = recordAll([rolledBack(2, 1)])
    routers.apply(rolledBack(2, 1), later as never)

    const loaded = createRouters()
    loaded.load([...saved].map((line) => Buffer.from(line)))
    expect(loaded.activationsOf(EVERYONE)).to.deep.equal([1, 2])
    expect(loaded.versions()).to.deep.equal(fold(trained(1), trained(2)).versions())
    expect(loaded.revision()).to.equal(3)
  })

  it('are not applied from events that lack something', () => {
    const isApplied = (event: DomainEvent) => isWellFormed(event, recordAll([event])[0] as never)
    const change = (data: object) =>
      ({ type: 'RouterTrained', data: { ...trained(1).data, ...data } }) as unknown as DomainEvent

    expect(isApplied(trained(1))).to.equal(true)
    expect(isApplied(change({ version: 0 }))).to.equal(false)
    expect(isApplied(change({ models: { 'gpt-x': { ratings: 1 } } }))).to.equal(false)
    expect(isApplied(change({ scope: {} }))).to.equal(false)
    expect(isApplied(change({ checksum: undefined }))).to.equal(false)
    expect(isApplied(activated(0))).to.equal(false)
  })
})
