import { expect } from 'chai'
import type { GrantEvent } from '../../../projections/events/grants.ts'
import { createGrants, type Grants } from '../../../projections/grants.ts'
import { pastEvents } from '../../support/past-events.ts'

const HOUR_MS = 3_600_000

const approved = (grantId: string, inMs = HOUR_MS): GrantEvent => ({
  type: 'SignInApproved',
  data: {
    grantId,
    client: 'claude_code',
    holder: { type: 'user', id: 'key_a' },
    userId: 1,
    expiresAt: new Date(Date.now() + inMs).toISOString(),
  },
})

function apply(grants: Grants, ...events: readonly GrantEvent[]): void {
  for (const { event, record } of pastEvents(...events)) if (event) grants.apply(event, record)
}

describe('grants', () => {
  it('are found until they are revoked or have expired', () => {
    const grants = createGrants()
    apply(grants, approved('a'), approved('b'), approved('c', -1))
    apply(grants, { type: 'SignInCompleted', data: { grantId: 'a' } })
    expect(grants.find('a')).to.include({ isCompleted: true, revision: 1 })
    expect(grants.find('b')).to.include({ isCompleted: false, revision: 0 })
    apply(grants, { type: 'SignInRevoked', data: { grantId: 'b', cause: 'signed_out' } })
    apply(grants, { type: 'SignInCompleted', data: { grantId: 'b' } })
    for (const id of ['b', 'c', 'unknown']) expect(grants.find(id), id).to.equal(undefined)
  })

  it('are loaded as they were saved', () => {
    const [before, after] = [createGrants(), createGrants()]
    apply(before, approved('a'), approved('b'), { type: 'SignInCompleted', data: { grantId: 'b' } })
    after.load([...before.save()].map((line) => Buffer.from(line)))
    for (const id of ['a', 'b']) expect(after.find(id)).to.deep.equal(before.find(id))
  })

  it('take no memory for long once they have expired', () => {
    const grants = createGrants()
    for (let index = 0; index < 5000; index++) apply(grants, approved(`old-${index}`, -1))
    expect([...grants.save()].length).to.be.below(2001)
    for (let index = 0; index < 5000; index++) apply(grants, approved(`new-${index}`))
    expect(grants.find('new-0')).not.to.equal(undefined)
    expect([...grants.save()].filter((line) => line.includes('"new-'))).to.have.lengthOf(5000)
  })
})
