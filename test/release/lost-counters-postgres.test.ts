import { expect } from 'chai'
import { BudgetUser, type GatewayPair } from '../support/budget-user.ts'
import { ANSWER_USD } from '../support/budgets.ts'
import { askAsUser, useRedisAndProvider, withProviderAndRedis } from '../support/chat-storm.ts'
import { startGateway } from '../support/gateway.ts'
import { createHold } from '../support/hold.ts'
import { type RunningPostgres, requirePostgres } from '../support/postgres.ts'

describe('budgets of two gateways that lose Redis while their ledger is down', function () {
  this.timeout(180_000)
  const started = useRedisAndProvider()
  let postgres: RunningPostgres
  let gateways: GatewayPair
  let user: BudgetUser
  before(async function () {
    postgres = await requirePostgres(this)
    const settings = await withProviderAndRedis(started.provider, started.redis)
    const environment = { ...settings, LEDGER_URL: postgres.url }
    const first = await startGateway(environment)
    gateways = [first, await startGateway(environment, first)]
    user = await BudgetUser.create(gateways, started.provider)
  })
  after(async () => {
    for (const gateway of gateways ?? []) await gateway.stop()
    await postgres?.stop()
  })

  it('refuse requests until the sum can be read, and count records that come late', async () => {
    await user.setLimit(0.01)
    const [first, second] = gateways
    for (const gateway of [first, second, second]) expect((await user.ask(gateway)).status).to.equal(200)
    await postgres.kill()
    // The counters are there, so the ledger is not needed.
    for (const gateway of [first, second]) expect((await user.ask(gateway)).status).to.equal(200)
    const hold = createHold()
    const open = [await user.holdRequest(first, hold), await user.holdRequest(second, hold)]
    await started.redis.client.flushall()
    for (const gateway of gateways) {
      const { status, body } = await askAsUser(gateway, user.user.key)
      expect(status).to.equal(503)
      expect(body.error.code).to.equal('budget_unavailable')
    }
    // They are settled before the sum is known.
    hold.release()
    for (const { answer } of open) expect((await answer).status).to.equal(200)
    await postgres.restart()
    const spent = (3 + 2 + open.length + (await user.useUp())) * ANSWER_USD
    expect(spent).to.be.within(0.01 * 0.85, 0.01)
    expect(await user.spent()).to.be.closeTo(spent, 1e-12)
  })
})
