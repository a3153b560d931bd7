import { expect } from 'chai'
import { ANSWER_USD, budgetOf, readBudget, setBudget } from '../support/budgets.ts'
import { askAsUser, limitUser, playStorm, STORM_TOKENS, withProvider } from '../support/chat-storm.ts'
import { type Answer, type RunningGateway, startGateway } from '../support/gateway.ts'
import { createHold, type Hold } from '../support/hold.ts'
import { newUser, type TestUser } from '../support/new-user.ts'
import { createRandom } from '../support/random.ts'
import { type RunningRedis, requireRedis } from '../support/redis.ts'
import { type RedisProxy, startRedisProxy } from '../support/redis-proxy.ts'
import {
  completion,
  completionOf,
  type ScriptedProvider,
  startScriptedProvider,
} from '../support/scripted-provider.ts'
import { withSettings } from '../support/settings.ts'
import { waitUntil } from '../support/wait.ts'

const USED_TOKENS = STORM_TOKENS.prompt + STORM_TOKENS.reply

describe('limits in Redis that loses data, commands and answers', function () {
  this.timeout(120_000)
  let redis: RunningRedis
  let provider: ScriptedProvider
  let proxy: RedisProxy
  /** Two gateways on one log and ledger. The first one reaches Redis through the proxy. */
  let gateways: readonly [RunningGateway, RunningGateway]
  let user: TestUser
  before(async function () {
    redis = await requireRedis(this, 'a-redis-password')
    proxy = await startRedisProxy(redis.url)
    provider = await startScriptedProvider()
    const settings = await withSettings(
      'rate_limits: { redis_timeout_ms: 700, on_redis_failure: { free: refuse, paid: allow } }',
    )
    const environment = { ...withProvider(provider), ...settings }
    const first = await startGateway({ ...environment, REDIS_URL: proxy.url })
    gateways = [first, await startGateway({ ...environment, REDIS_URL: redis.url }, first)]
  })
  beforeEach(async () => {
    playStorm(provider)
    user = await newUser(gateways[0])
  })
  afterEach(() => proxy.heal())
  after(async () => {
    for (const gateway of gateways ?? []) await gateway.stop()
    provider?.close()
    proxy?.close()
    await redis?.stop()
  })

  /** Sets the budget. Resolves when the first gateway is connected to Redis. */
  const setLimit = (limit_usd: number) =>
    waitUntil(async () => {
      const { status } = await setBudget(gateways[0], budgetOf.user(user.id), { limit_usd })
      return status === 200
    })

  const stateOf = async (gateway = gateways[1]) => {
    const { spent_usd, reserved_usd } = await readBudget(gateway, budgetOf.user(user.id))
    return { spent: spent_usd, reserved: reserved_usd }
  }

  const inRedis = async (field: 'used' | 'reserved', counter = `budgets:user-${user.id}:total`) =>
    Number(await redis.client.hget(`signalbox:${counter}`, field))

  /** Sends a request whose reply waits for the hold. Resolves when the provider has the request. */
  async function holdRequest(
    gateway: RunningGateway,
    hold: Hold,
  ): Promise<{ readonly answer: Promise<Answer> }> {
    const last = provider.last()
    provider.play({ body: completionOf(STORM_TOKENS.prompt, STORM_TOKENS.reply), until: hold.released })
    const answer = askAsUser(gateway, user.key)
    await waitUntil(async () => provider.last() !== last)
    playStorm(provider)
    return { answer }
  }

  /** Asks until the answer is final: a limit that cannot be checked for a moment is retried. */
  async function ask(gateway: RunningGateway, until = 'budget_exceeded'): Promise<Answer> {
    for (;;) {
      const answer = await askAsUser(gateway, user.key)
      const { code } = answer.body.error ?? {}
      if (answer.status !== 503 && (code !== 'budget_reserved' || code === until)) return answer
    }
  }

  /** Asks until the budget is used up. Returns how many requests were served. */
  async function useUp(until = 'budget_exceeded'): Promise<number> {
    for (let served = 0; ; served++) {
      const { status, body } = await ask(gateways[served % 2] as RunningGateway, until)
      if (body.error?.code === until) return served
      expect(status, JSON.stringify(body)).to.equal(200)
    }
  }

  it('count a settlement once whose answer was lost', async () => {
    await setLimit(1)
    const hold = createHold()
    const { answer } = await holdRequest(gateways[0], hold)
    proxy.loseAnswers()
    hold.release()
    expect((await answer).status).to.equal(200)
    await waitUntil(async () => (await inRedis('used')) > 0)
    proxy.heal()
    expect((await ask(gateways[0])).status).to.equal(200)
    await waitUntil(async () => (await stateOf()).reserved === 0)
    expect((await stateOf()).spent).to.be.closeTo(2 * ANSWER_USD, 1e-12)
  })

  it('release a reservation whose answer was lost', async () => {
    await setLimit(1)
    expect((await ask(gateways[0])).status).to.equal(200)
    proxy.loseAnswers()
    expect((await askAsUser(gateways[0], user.key)).body.error.code).to.equal('budget_unavailable')
    proxy.heal()
    await waitUntil(async () => (await inRedis('reserved')) === 0)
    expect(await stateOf()).to.deep.equal({ spent: ANSWER_USD, reserved: 0 })
  })

  it('count settlements once that Redis missed before it lost its data', async () => {
    await setLimit(1)
    const hold = createHold()
    const { answer } = await holdRequest(gateways[0], hold)
    await redis.kill()
    hold.release()
    expect((await answer).status).to.equal(200)
    await redis.restart()
    expect((await ask(gateways[1])).status).to.equal(200)
    await waitUntil(async () => (await stateOf()).reserved === 0)
    expect((await stateOf()).spent).to.be.closeTo(2 * ANSWER_USD, 1e-12)
  })

  it('hold what is open when Redis loses its data, on all gateways', async () => {
    await setLimit(0.01)
    const hold = createHold()
    const open = [await holdRequest(gateways[0], hold), await holdRequest(gateways[1], hold)]
    const reserved = await inRedis('reserved')
    await redis.client.flushall()
    const served = await useUp('budget_reserved')
    expect(await inRedis('reserved')).to.equal(reserved)
    hold.release()
    for (const { answer } of open) expect((await answer).status).to.equal(200)
    const spent = (served + open.length + (await useUp())) * ANSWER_USD
    expect(spent).to.be.within(0.01 * 0.85, 0.01)
    await waitUntil(async () => (await stateOf()).reserved === 0)
    expect((await stateOf()).spent).to.be.closeTo(spent, 1e-12)
  })

  it('count what another gateway has answered and not yet recorded', async () => {
    await setLimit(0.01)
    const answers = await Promise.all(Array.from({ length: 5 }, () => ask(gateways[1])))
    await redis.client.flushall()
    const spent = (answers.length + (await useUp())) * ANSWER_USD
    expect(spent).to.be.within(0.01 * 0.85, 0.01)
    await waitUntil(async () => (await stateOf()).reserved === 0)
    expect((await stateOf()).spent).to.be.closeTo(spent, 1e-12)
  })

  it('count replies of unknown cost also after a loss', async () => {
    await setLimit(1)
    const { usage: _, ...body } = completion({ content: 'Hi' })
    provider.play({ body })
    expect((await ask(gateways[0])).status).to.equal(200)
    await waitUntil(async () => (await stateOf()).reserved === 0)
    const { spent } = await stateOf()
    expect(spent).to.be.above(0)
    await redis.client.flushall()
    playStorm(provider)
    expect((await ask(gateways[1])).status).to.equal(200)
    await waitUntil(async () => (await stateOf()).reserved === 0)
    expect((await stateOf()).spent).to.be.closeTo(spent + ANSWER_USD, 1e-12)
    // Without Redis, the ledger says the same.
    await redis.client.flushall()
    expect((await stateOf()).spent).to.be.closeTo(spent + ANSWER_USD, 1e-12)
  })

  it('hold tokens and slots when Redis loses its data', async () => {
    await limitUser(gateways[0], user.id, { plan: 'free', tokens_per_minute: 100_000, max_concurrent: 1 })
    expect((await ask(gateways[0])).status).to.equal(200)
    expect((await ask(gateways[1])).status).to.equal(200)
    const hold = createHold()
    const { answer } = await holdRequest(gateways[0], hold)
    await redis.client.flushall()
    expect((await ask(gateways[1])).body.error.code).to.equal('concurrency_limit_exceeded')
    hold.release()
    expect((await answer).status).to.equal(200)
    const next = await ask(gateways[1])
    expect(next.status).to.equal(200)
    await waitUntil(async () => (await inRedis('used', `usage:tokens-${user.id}`)) === 4 * USED_TOKENS)
  })

  it('are exact in a storm of 20 clients while everything is lost again and again', async () => {
    const limit = 0.06
    await setLimit(limit)
    const random = createRandom(7)
    let isOver = false
    const clients = Promise.all(
      Array.from({ length: 20 }, async (_, number) => {
        for (let served = 0; ; served++) {
          const { status, body } = await ask(gateways[(number + served) % 2] as RunningGateway)
          if (status === 402) return served
          expect(status, JSON.stringify(body)).to.equal(200)
        }
      }),
    ).finally(() => {
      isOver = true
    })
    const losses = [
      () => redis.client.flushall(),
      async () => {
        await redis.kill()
        await redis.restart()
      },
      async () => {
        proxy.loseAnswers()
        await askAsUser(gateways[0], user.key)
        proxy.heal()
      },
      async () => {
        proxy.loseCommands()
        await askAsUser(gateways[0], user.key)
        proxy.heal()
      },
    ]
    let besides = 0
    for (let loss = 0; loss < 8 && !isOver; loss++) {
      await random.pick(losses)()
      if ((await ask(gateways[1])).status === 200) besides += 1
    }
    const served = (await clients).reduce((sum, count) => sum + count, besides)
    await waitUntil(async () => (await stateOf()).reserved === 0)
    const { spent } = await stateOf()
    expect(spent).to.be.at.most(limit)
    expect(spent).to.be.at.least(limit * 0.95)
    expect(spent).to.be.at.least(served * ANSWER_USD - 1e-12)
  })
})
