import { expect } from 'chai'
import type { Account } from '../../../core/contract/index.ts'
import type { DomainEvent } from '../../../core/events/codec.ts'
import { createAccounts } from '../../../projections/accounts.ts'
import { createCallerSnapshots } from '../../../projections/history.ts'
import { createRulesProjection } from '../../../projections/rules.ts'
import { created, pastEvents, planChanged, userCreated } from '../../support/past-events.ts'

const caller: Account = { userId: 1, name: 'Ada', plan: 'paid', keyId: 'key_a', position: 10 }

describe('createCallerSnapshots', () => {
  function snapshotAfter(...events: readonly DomainEvent[]) {
    const [accounts, rules] = [createAccounts(), createRulesProjection()]
    for (const { event, record } of pastEvents(...events)) {
      if (event === undefined) continue
      accounts.apply(event, record)
      rules.apply(event, record)
    }
    return createCallerSnapshots(accounts, rules)(caller)
  }

  it('takes the current plan and rules if both changed after authentication', () => {
    const { account, rules } = snapshotAfter(userCreated, planChanged('free'), created(5))
    expect(account).to.deep.equal({ ...caller, plan: 'free', position: 20 })
    expect(rules).to.include({ userId: 1, position: 30 })
  })

  it('returns the account unchanged if its user is unknown', () => {
    expect(snapshotAfter().account).to.deep.equal(caller)
  })
})
