import { expect } from 'chai'
import { type DomainEvent, isWellFormed } from '../../../projections/events/registry.ts'
import type { RouterScope } from '../../../projections/events/routers.ts'
import { createRouters, type Routers } from '../../../projections/routers.ts'
import { recordAll } from '../../support/histories.ts'

const EVERYONE = { everyone: true } as const
const GROUP = { groupId: 7 } as const

const described = (version: number, scope: RouterScope = EVERYONE) => {
  const judged = { figures: {}, trainedFrom: { ratings: 120 } }
  return { version, scope, ...judged, featureKeyId: 'k', checksum: 'c' }
}
const trained = (version: number, scope?: RouterScope): DomainEvent => ({
  type: 'RouterTrained',
  data: { ...described(version, scope), models: { 'gpt-x': { ratings: 120 } }, bytes: 100, weightsLeaf: 'f' },
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

  it('are not activated by events about versions that are not there', () => {
    const routers = fold(trained(1), activated(1), activated(2), rolledBack(1, 7))

    expect(routers.activationsOf(EVERYONE)).to.deep.equal([1])
    expect(fold(activated(1), trained(1)).activations()).to.deep.equal([])
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
    const change = ({ type, data }: DomainEvent, changes: object) =>
      ({ type, data: { ...data, ...changes } }) as unknown as DomainEvent

    const event = trained(1)
    expect(isApplied(event)).to.equal(true)
    expect(isApplied(change(event, { version: 0 }))).to.equal(false)
    expect(isApplied(change(event, { models: { 'gpt-x': {} } }))).to.equal(false)
    expect(isApplied(change(event, { scope: {} }))).to.equal(false)
    expect(isApplied(change(event, { checksum: undefined }))).to.equal(false)
    expect(isApplied(change(event, { bytes: 'many' }))).to.equal(false)
    expect(isApplied(change(event, { weightsLeaf: undefined }))).to.equal(false)
    expect(isApplied(activated(0))).to.equal(false)
  })
})
