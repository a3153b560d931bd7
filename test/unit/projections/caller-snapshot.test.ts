import { expect } from 'chai'
import type { Account } from '../../../core/contract/index.ts'
import type { DomainEvent } from '../../../core/events/codec.ts'
import { createAccounts } from '../../../projections/accounts.ts'
import { createCallerSnapshots } from '../../../projections/history.ts'
import { createRules } from '../../../projections/rules.ts'
import { created, given, planChanged, userCreated } from '../../support/past-events.ts'

const caller: Account = { userId: 1, name: 'Ada', plan: 'paid', keyId: 'key_a', position: 10 }

describe('pinning the caller', () => {
  function pinAfter(...events: readonly DomainEvent[]) {
    const [accounts, rules] = [createAccounts(), createRules()]
    for (const { event, record } of given(...events)) {
      if (event === undefined) continue
      accounts.apply(event, record)
      rules.apply(event, record)
    }
    return createCallerSnapshots(accounts, rules)(caller)
  }

  it('takes plan and rules of one moment, when both changed since the caller was recognised', () => {
    const { account, rules } = pinAfter(userCreated, planChanged('free'), created(5))
    expect(account).to.deep.equal({ ...caller, plan: 'free', position: 20 })
    expect(rules).to.include({ userId: 1, position: 30 })
  })

  it('leaves an account as it is whose user is not known here', () => {
    expect(pinAfter().account).to.deep.equal(caller)
  })
})
