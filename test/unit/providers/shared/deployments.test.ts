import { expect } from 'chai'
import type { ProviderClient } from '../../../../providers/shared/client.ts'
import { type Balance, Deployment, DeploymentPool } from '../../../../providers/shared/deployments.ts'
import { model } from '../../../support/models.ts'

const loco = model('loco', 'acme')
const target = { provider: 'acme', model: 'loco', entry: loco }

describe('a pool of deployments', () => {
  // The cast is safe: nothing is sent.
  const client = {} as ProviderClient
  const createPool = (balance: Balance, ...weights: readonly number[]) =>
    new DeploymentPool(
      weights.map((weight, index) => new Deployment({ id: `d${index}`, weight }, client)),
      balance,
    )
  const choose = (pool: DeploymentPool, times: number, among = pool.members) =>
    Array.from({ length: times }, () => pool.choose(among, target)?.id)

  it('gives each its weight in every run of requests, without bursts', () => {
    const pool = createPool('weighted', 5, 1, 1)
    expect(choose(pool, 7)).to.deep.equal(['d0', 'd0', 'd1', 'd0', 'd2', 'd0', 'd0'])
    expect(choose(pool, 4, pool.members.slice(1))).to.deep.equal(['d1', 'd2', 'd1', 'd2'])
  })

  it('takes the one with the least in flight, compared with its weight', () => {
    const pool = createPool('least_busy', 1, 2)
    const [one, other] = pool.members as [Deployment, Deployment]
    one.requestsInFlight = 1
    expect(choose(pool, 2)).to.deep.equal(['d1', 'd1'])
    other.tokensInFlight = 2500
    expect(choose(pool, 2)).to.deep.equal(['d0', 'd0'])
  })

  it('takes the fastest once all are measured, and tries the others now and then', () => {
    const pool = createPool('latency', 1, 1)
    const [slow, fast] = pool.members as [Deployment, Deployment]
    slow.markMeasured(target)
    slow.latency.recordWholeReply(target, 100, 10)
    expect(choose(pool, 2)).to.deep.equal(['d1', 'd1'])
    fast.markMeasured(target)
    for (let reply = 0; reply < 50; reply++) {
      slow.latency.recordWholeReply(target, 100, 9000)
      fast.latency.recordWholeReply(target, 100, 100)
    }
    const chosen = choose(pool, 200)
    expect(chosen.filter((id) => id === 'd0').length).to.be.within(5, 10)
  })
})
