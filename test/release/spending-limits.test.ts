import { expect } from 'chai'
import { ANSWER_USD, budgetOf, readBudget, setBudget } from '../support/budgets.ts'
import {
  limitUser,
  playStorm,
  STORM_TOKENS,
  stormUntilRefused,
  withProvider,
  withProviderAndRedis,
} from '../support/chat-storm.ts'
import type { Answer } from '../support/gateway.ts'
import { type GatewayProcess, startGatewayProcess } from '../support/gateway-process.ts'
import { newUser } from '../support/new-user.ts'
import { type RunningRedis, requireRedis } from '../support/redis.ts'
import { type ScriptedProvider, startScriptedProvider } from '../support/scripted-provider.ts'

const LIMIT_USD = 0.04
const LIMIT_TOKENS = 6000

describe('limits of two workers', function () {
  this.timeout(180_000)
  let provider: ScriptedProvider
  before(async () => {
    provider = await startScriptedProvider()
    playStorm(provider)
  })
  after(() => provider.close())

  const servedOf = (answers: readonly Answer[]) => {
    expect(answers.filter(({ status }) => ![200, 402, 429].includes(status))).to.deep.equal([])
    return answers.filter(({ status }) => status === 200).length
  }

  /** Neither limit is exceeded, and at least 95 % of each can be used. */
  async function expectExact(gateway: GatewayProcess) {
    const [spender, talker] = [await newUser(gateway), await newUser(gateway)]
    await setBudget(gateway, budgetOf.user(spender.id), { limit_usd: LIMIT_USD })
    await limitUser(gateway, talker.id, { tokens_per_minute: LIMIT_TOKENS })
    const paid = await stormUntilRefused([gateway], spender.key, {
      clients: 200,
      isFinal: ({ status }) => status === 402,
    })
    const spent = servedOf(paid) * ANSWER_USD
    expect(spent).to.be.within(LIMIT_USD * 0.95, LIMIT_USD)
    const state = await readBudget(gateway, budgetOf.user(spender.id))
    expect(state.spent_usd).to.be.closeTo(spent, 1e-12)

    const isFinal = ({ status, body }: Answer) => status === 429 && body.error.retry_after > 1
    const answers = await stormUntilRefused([gateway], talker.key, { clients: 64, isFinal })
    const used = servedOf(answers) * (STORM_TOKENS.prompt + STORM_TOKENS.reply)
    expect(used).to.be.within(LIMIT_TOKENS * 0.95, LIMIT_TOKENS)
  }

  it('are exact in the primary process', async () => {
    const gateway = await startGatewayProcess({ ...withProvider(provider), WORKERS: '2' })
    await expectExact(gateway)
    await gateway.stop()
  })

  describe('with Redis', () => {
    let redis: RunningRedis
    before(async function () {
      redis = await requireRedis(this, 'a-redis-password')
    })
    after(() => redis?.stop())

    it('are exact there', async () => {
      const environment = { ...(await withProviderAndRedis(provider, redis)), WORKERS: '2' }
      const gateway = await startGatewayProcess(environment)
      await expectExact(gateway)
      await gateway.stop()
    })
  })
})
