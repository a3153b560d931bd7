import { expect } from 'chai'
import type { Account } from '../../../core/contract/index.ts'
import { createCallerSnapshots } from '../../../projections/callers.ts'
import type { DomainEvent } from '../../../projections/events/registry.ts'
import { createProjections, listProjections } from '../../../projections/projections.ts'
import { created, pastEvents, planChanged, userCreated } from '../../support/past-events.ts'

const caller: Account = { userId: 1, name: 'Ada', plan: 'paid', keyId: 'key_a', position: 10 }

describe('createCallerSnapshots', () => {
  function snapshotAfter(...events: readonly DomainEvent[]) {
    const projections = createProjections()
    for (const { event, record } of pastEvents(...events)) {
      if (event === undefined) continue
      for (const projection of listProjections(projections)) projection.apply(event, record)
    }
    return createCallerSnapshots(projections)(caller)
  }

  it('takes the current plan and rules if both changed after authentication', () => {
    const { account, rules } = snapshotAfter(userCreated, planChanged('free'), created(5))
    expect(account).to.deep.equal({ ...caller, plan: 'free', position: 20 })
    expect(rules).to.include({ ownerId: 1, position: 30 })
  })

  it('returns the account unchanged if its user is unknown', () => {
    expect(snapshotAfter().account).to.deep.equal(caller)
  })
})
