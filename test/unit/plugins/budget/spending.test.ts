import { expect } from 'chai'
import { SharedStateUnavailableError } from '../../../../core/contract/index.ts'
import { HeldReservations } from '../../../../core/shared-state/held-reservations.ts'
import { createMemoryReservations } from '../../../../core/shared-state/memory-reservations.ts'
import type { OwnedBudget } from '../../../../plugins/budget/owned-budget.ts'
import { type CostLedger, Spending } from '../../../../plugins/budget/spending.ts'

const NOON = Date.parse('2026-03-04T12:00:00Z')
const NOT_WAITING = { waitMs: 0, client: { isAborted: false, onAbort: () => () => undefined } }

const ofUser: OwnedBudget = {
  target: { type: 'user', userId: 7 },
  budget: { limitUsd: 1e-6, period: 'day', onExceed: 'refuse' },
}
const ofAll: OwnedBudget = { ...ofUser, target: { type: 'all' } }

/** A ledger that remembers what it was asked. */
function recordingLedger(sums: { readonly user: number; readonly all: number }) {
  const queries: Parameters<CostLedger['sumCosts']>[0][] = []
  return {
    queries,
    async sumCosts(query: (typeof queries)[number]) {
      queries.push(query)
      return { cost: query.userId === undefined ? sums.all : sums.user }
    },
  }
}

describe('spending', () => {
  it('is rebuilt from the ledger when the counters are lost, once for concurrent requests', async () => {
    const ledger = recordingLedger({ user: 400, all: 100 })
    const spending = new Spending(new HeldReservations(createMemoryReservations()), ledger, () => NOON)
    const reserve = () => spending.reserve([ofUser, ofAll], 100, new Set(), NOT_WAITING)
    const results = await Promise.all(Array.from({ length: 10 }, reserve))
    expect(results.filter(({ hold }) => hold !== undefined).length).to.equal(6)
    const since = Date.parse('2026-03-04T00:00:00Z')
    const until = Date.parse('2026-03-05T00:00:00Z')
    expect(ledger.queries).to.deep.equal([
      { since, until, userId: 7, except: [] },
      { since, until, except: [] },
    ])
    expect(await spending.read(ofUser)).to.deep.equal({ spent: 400, reserved: 600 })
    results[0]?.hold?.settle([50, 50])
    expect(await spending.read(ofUser)).to.deep.equal({ spent: 450, reserved: 500 })
    expect(ledger.queries.length).to.equal(2)
  })

  it('is shown from the ledger before the first request', async () => {
    const ledger = recordingLedger({ user: 400, all: 100 })
    const spending = new Spending(new HeldReservations(createMemoryReservations()), ledger, () => NOON)
    expect(await spending.read(ofAll)).to.deep.equal({ spent: 100, reserved: 0 })
  })

  it('cannot be reserved while the ledger is away', async () => {
    const ledger = { sumCosts: () => Promise.reject(new Error('disk full')) }
    const spending = new Spending(new HeldReservations(createMemoryReservations()), ledger, () => NOON)
    const error = await Promise.resolve(spending.reserve([ofUser], 1, new Set(), NOT_WAITING)).catch((e) => e)
    expect(SharedStateUnavailableError.isInstance(error)).to.equal(true)
  })

  it('begins anew with each period', async () => {
    let now = NOON
    const spending = new Spending(new HeldReservations(createMemoryReservations()), undefined, () => now)
    const { hold } = await spending.reserve([ofUser], 900, new Set(), NOT_WAITING)
    now += 24 * 60 * 60 * 1000
    expect((await spending.reserve([ofUser], 900, new Set(), NOT_WAITING)).hold).not.to.equal(undefined)
    hold?.settle([900])
    expect(await spending.read(ofUser)).to.deep.equal({ spent: 0, reserved: 900 })
  })
})
