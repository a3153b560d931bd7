import { expect } from 'chai'
import { ANSWER_USD, budgetOf, readBudget, setBudget } from '../support/budgets.ts'
import {
  askAsUser,
  playStorm,
  stormUntilRefused,
  useRedisAndProvider,
  withProvider,
  withProviderAndRedis,
} from '../support/chat-storm.ts'
import { makeFolder } from '../support/folders.ts'
import { type RunningGateway, startGatewayOnFiles } from '../support/gateway.ts'
import { type GatewayProcess, startGatewayProcess } from '../support/gateway-process.ts'
import { newUser, type TestUser } from '../support/new-user.ts'
import { ROUNDS } from '../support/rounds.ts'
import { skip } from '../support/skip.ts'
import { waitUntil } from '../support/wait.ts'

const LIMIT_USD = 0.04
const SERVED = 20
const OPEN = 8

describe('the reservations of a gateway that was killed', () => {
  const started = useRedisAndProvider()

  /** Serves some requests and kills the gateway while it waits for the replies to others. */
  async function killWithReservations(gateway: GatewayProcess, user: TestUser): Promise<void> {
    const path = budgetOf.user(user.id)
    await setBudget(gateway, path, { limit_usd: LIMIT_USD })
    for (let n = 0; n < SERVED; n++) expect((await askAsUser(gateway, user.key)).status).to.equal(200)
    // A request is in the ledger once it was read.
    await user.call('GET', '/v1/requests')
    started.provider.play({ until: new Promise(() => undefined) })
    const open = Array.from({ length: OPEN }, () => askAsUser(gateway, user.key).catch(() => undefined))
    await waitUntil(async () => (await readBudget(gateway, path)).reserved_usd > OPEN * ANSWER_USD)
    await gateway.stop('SIGKILL')
    await Promise.all(open)
    playStorm(started.provider)
  }

  /** All of the budget that was not spent can be used, and not more. */
  async function expectExactRest(gateway: RunningGateway, user: TestUser): Promise<void> {
    const state = await readBudget(gateway, budgetOf.user(user.id))
    expect(state.spent_usd).to.be.closeTo(SERVED * ANSWER_USD, 1e-12)
    const isFinal = ({ status }: { status: number }) => status === 402
    const answers = await stormUntilRefused([gateway], user.key, { clients: 20, isFinal })
    const served = SERVED + answers.filter(({ status }) => status === 200).length
    expect(served * ANSWER_USD).to.be.within(LIMIT_USD * 0.95, LIMIT_USD)
  }

  it('do not count when it has started again, and the ledger knows what was spent', async () => {
    const dataDir = await makeFolder()
    const first = await startGatewayProcess(withProvider(started.provider), { dataDir })
    const user = await newUser(first)
    await killWithReservations(first, user)
    const second = await startGatewayOnFiles(withProvider(started.provider), { dataDir })
    expect((await readBudget(second, budgetOf.user(user.id))).reserved_usd).to.equal(0)
    await expectExactRest(second, user)
    await second.stop()
  })

  it('end in Redis within a minute', async function () {
    if (!ROUNDS.awaitsExpiry) skip(this, 'takes a minute; set TEST_LONG=1')
    const environment = await withProviderAndRedis(started.provider, started.redis)
    const first = await startGatewayProcess(environment)
    const user = await newUser(first)
    const second = await startGatewayProcess(environment, { dataDir: first.dataDir, demoKey: first.demoKey })
    await killWithReservations(first, user)
    const path = budgetOf.user(user.id)
    expect((await readBudget(second, path)).reserved_usd).to.be.greaterThan(OPEN * ANSWER_USD)
    await waitUntil(async () => (await readBudget(second, path)).reserved_usd === 0)
    await expectExactRest(second, user)
    await second.stop()
  })
})
