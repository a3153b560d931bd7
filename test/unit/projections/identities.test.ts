import { expect } from 'chai'
import type { RecordedEvent } from '../../../core/contract/index.ts'
import type { DomainEvent } from '../../../projections/events/registry.ts'
import { createIdentities, type Identities } from '../../../projections/identities.ts'

const ISSUER = 'https://idp.example.com'

describe('identities', () => {
  let identities: Identities
  let position: number

  beforeEach(() => {
    identities = createIdentities()
    position = 0
  })

  function apply(event: DomainEvent, actor: 'identity' | 'operator' = 'identity'): void {
    const metadata = { actor: { type: actor, id: 'x', name: 'x' } }
    identities.apply(event, {
      position: ++position,
      revision: position,
      metadata,
    } as unknown as RecordedEvent)
  }
  const link = (identity: string, userId: number) =>
    apply({ type: 'IdentityLinked', data: { identity, issuer: ISSUER, subject: identity, userId } })
  const join = (userId: number, groupId: number, issuedAt?: number) =>
    apply({ type: 'UserAddedToGroup', data: { userId, groupId, ...(issuedAt && { issuedAt }) } })

  it('forget who a user was whose identity is now that of another', () => {
    link('ada', 1)
    link('ada', 2)
    expect(identities.linkedTo('ada')).to.equal(2)
    expect(identities.identityOf(1)).to.equal(undefined)
    expect(identities.identityOf(2)).to.include({ subject: 'ada' })
    apply({ type: 'UserDeleted', data: { userId: 1 } })
    expect(identities.linkedTo('ada')).to.equal(2)
    link('grace', 2)
    expect(identities.linkedTo('ada')).to.equal(undefined)
  })

  it('are the same after a snapshot', () => {
    link('ada', 1)
    link('grace', 2)
    link('gone', 3)
    join(1, 7, 100)
    join(1, 8, 50)
    join(2, 7)
    apply({ type: 'UserAddedToGroup', data: { userId: 2, groupId: 9 } }, 'operator')
    apply({ type: 'UserDeleted', data: { userId: 3 } })
    apply({
      type: 'GroupClaimLinked',
      data: { identity: 'eng', issuer: ISSUER, group: 'eng', groupId: 7 },
    })
    const loaded = createIdentities()
    loaded.load([...identities.save()].map((line) => Buffer.from(line)))
    for (const each of [identities, loaded]) {
      const names = ['ada', 'grace', 'gone', 'eng', 'missing']
      expect(names.map((name) => each.linkedTo(name))).to.deep.equal([1, 2, undefined, 7, undefined])
      expect(names.map((name) => each.revision(name))).to.deep.equal([1, 2, 3, position, -1])
      expect([1, 2].map((id) => each.claimedGroups(id))).to.deep.equal([[7, 8], [7]])
      expect([1, 2].map((id) => each.claimedAt(id))).to.deep.equal([100, 0])
      expect([1, 3, 4].map((id) => each.identitiesOf(id))).to.deep.equal([['ada'], ['gone'], []])
      expect([1, 2, 3].map((id) => each.identityOf(id)?.subject)).to.deep.equal(['ada', 'grace', undefined])
    }
  })
})
