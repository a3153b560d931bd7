import { expect } from 'chai'
import { chatBody } from '../support/bodies.ts'
import { BudgetUser, type GatewayPair } from '../support/budget-user.ts'
import { ANSWER_USD } from '../support/budgets.ts'
import { askAsUser, limitUser, playStorm, STORM_TOKENS, withProvider } from '../support/chat-storm.ts'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import { createHold } from '../support/hold.ts'
import { createRandom } from '../support/random.ts'
import { type RunningRedis, requireRedis } from '../support/redis.ts'
import { type RedisProxy, startRedisProxy } from '../support/redis-proxy.ts'
import {
  chunk,
  completion,
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
  let gateways: GatewayPair
  let user: BudgetUser
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
    user = await BudgetUser.create(gateways, provider)
  })
  afterEach(() => proxy.heal())
  after(async () => {
    for (const gateway of gateways ?? []) await gateway.stop()
    provider?.close()
    proxy?.close()
    await redis?.stop()
  })

  const inRedis = async (field: 'used' | 'reserved', counter = `budgets:user-${user.user.id}:total`) =>
    Number(await redis.client.hget(`signalbox:${counter}`, field))

  it('count a settlement once whose answer was lost', async () => {
    await user.setLimit(1)
    const hold = createHold()
    const { answer } = await user.holdRequest(gateways[0], hold)
    proxy.loseAnswers()
    hold.release()
    expect((await answer).status).to.equal(200)
    await waitUntil(async () => (await inRedis('used')) > 0)
    proxy.heal()
    expect((await user.ask(gateways[0])).status).to.equal(200)
    expect(await user.spent()).to.be.closeTo(2 * ANSWER_USD, 1e-12)
  })

  it('release a reservation whose answer was lost', async () => {
    await user.setLimit(1)
    expect((await user.ask(gateways[0])).status).to.equal(200)
    proxy.loseAnswers()
    expect((await askAsUser(gateways[0], user.user.key)).body.error.code).to.equal('budget_unavailable')
    proxy.heal()
    await waitUntil(async () => (await inRedis('reserved')) === 0)
    expect(await user.state()).to.deep.equal({ spent: ANSWER_USD, reserved: 0 })
  })

  it('count settlements once that Redis missed before it lost its data', async () => {
    await user.setLimit(1)
    const hold = createHold()
    const { answer } = await user.holdRequest(gateways[0], hold)
    await redis.kill()
    hold.release()
    expect((await answer).status).to.equal(200)
    await redis.restart()
    expect((await user.ask(gateways[1])).status).to.equal(200)
    expect(await user.spent()).to.be.closeTo(2 * ANSWER_USD, 1e-12)
  })

  it('hold what is open when Redis loses its data, on all gateways', async () => {
    await user.setLimit(0.01)
    const hold = createHold()
    const open = [await user.holdRequest(gateways[0], hold), await user.holdRequest(gateways[1], hold)]
    const reserved = await inRedis('reserved')
    await redis.client.flushall()
    const served = await user.useUp('budget_reserved')
    expect(await inRedis('reserved')).to.equal(reserved)
    hold.release()
    for (const { answer } of open) expect((await answer).status).to.equal(200)
    const spent = (served + open.length + (await user.useUp())) * ANSWER_USD
    expect(spent).to.be.within(0.01 * 0.85, 0.01)
    expect(await user.spent()).to.be.closeTo(spent, 1e-12)
  })

  it('notice that Redis starts with an older snapshot', async () => {
    await user.setLimit(0.01)
    const hold = createHold()
    const before = [await user.holdRequest(gateways[0], hold), await user.holdRequest(gateways[1], hold)]
    expect((await user.ask(gateways[0])).status).to.equal(200)
    await redis.client.save()
    // The snapshot has reservations that are settled, and lacks others.
    hold.release()
    for (const { answer } of before) expect((await answer).status).to.equal(200)
    await user.spent()
    const later = createHold()
    const open = await user.holdRequest(gateways[1], later)
    expect((await user.ask(gateways[1])).status).to.equal(200)
    await redis.kill()
    await redis.restart()
    expect(await inRedis('reserved')).to.be.above(0)
    const served = await user.useUp('budget_reserved')
    later.release()
    expect((await open.answer).status).to.equal(200)
    const spent = (before.length + 3 + served + (await user.useUp())) * ANSWER_USD
    expect(spent).to.be.within(0.01 * 0.85, 0.01)
    expect(await user.spent()).to.be.closeTo(spent, 1e-12)
  })

  it('count a cancelled stream once that Redis lost', async () => {
    await user.setLimit(1)
    const part = chunk({ content: 'Hello '.repeat(50) })
    provider.play({ chunks: Array.from({ length: 500 }, () => part), delayMs: 20 })
    const cancel = new AbortController()
    const response = await fetch(`${gateways[0].url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${user.user.key}`, 'content-type': 'application/json' },
      body: JSON.stringify(chatBody('Hello', { stream: true })),
      signal: cancel.signal,
    })
    await response.body?.getReader().read()
    await redis.client.flushall()
    cancel.abort()
    playStorm(provider)
    expect((await user.ask(gateways[1])).status).to.equal(200)
    const spent = await user.spent()
    expect(spent).to.be.above(ANSWER_USD)
    // The ledger says the same.
    await redis.client.flushall()
    await waitUntil(async () => (await user.state()).spent === spent)
  })

  it('count what another gateway has answered and not yet recorded', async () => {
    await user.setLimit(0.01)
    const answers = await Promise.all(Array.from({ length: 5 }, () => user.ask(gateways[1])))
    await redis.client.flushall()
    const spent = (answers.length + (await user.useUp())) * ANSWER_USD
    expect(spent).to.be.within(0.01 * 0.85, 0.01)
    expect(await user.spent()).to.be.closeTo(spent, 1e-12)
  })

  it('count replies of unknown cost also after a loss', async () => {
    await user.setLimit(1)
    const { usage: _, ...body } = completion({ content: 'Hi' })
    provider.play({ body })
    expect((await user.ask(gateways[0])).status).to.equal(200)
    const spent = await user.spent()
    expect(spent).to.be.above(0)
    await redis.client.flushall()
    playStorm(provider)
    expect((await user.ask(gateways[1])).status).to.equal(200)
    expect(await user.spent()).to.be.closeTo(spent + ANSWER_USD, 1e-12)
    // Without Redis, the ledger says the same.
    await redis.client.flushall()
    expect((await user.state()).spent).to.be.closeTo(spent + ANSWER_USD, 1e-12)
  })

  it('hold tokens and slots when Redis loses its data', async () => {
    await limitUser(gateways[0], user.user.id, {
      plan: 'free',
      tokens_per_minute: 100_000,
      max_concurrent: 1,
    })
    expect((await user.ask(gateways[0])).status).to.equal(200)
    expect((await user.ask(gateways[1])).status).to.equal(200)
    const hold = createHold()
    const { answer } = await user.holdRequest(gateways[0], hold)
    await redis.client.flushall()
    expect((await user.ask(gateways[1])).body.error.code).to.equal('concurrency_limit_exceeded')
    hold.release()
    expect((await answer).status).to.equal(200)
    const next = await user.ask(gateways[1])
    expect(next.status).to.equal(200)
    await waitUntil(async () => (await inRedis('used', `usage:tokens-${user.user.id}`)) === 4 * USED_TOKENS)
  })

  it('are exact in a storm of 20 clients while everything is lost again and again', async () => {
    const limit = 0.06
    await user.setLimit(limit)
    const random = createRandom(7)
    let isOver = false
    const clients = Promise.all(
      Array.from({ length: 20 }, async (_, number) => {
        for (let served = 0; ; served++) {
          const { status, body } = await user.ask(gateways[(number + served) % 2] as RunningGateway)
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
        await askAsUser(gateways[0], user.user.key)
        proxy.heal()
      },
      async () => {
        proxy.loseCommands()
        await askAsUser(gateways[0], user.user.key)
        proxy.heal()
      },
    ]
    let besides = 0
    for (let loss = 0; loss < 8 && !isOver; loss++) {
      await random.pick(losses)()
      if ((await user.ask(gateways[1])).status === 200) besides += 1
    }
    const served = (await clients).reduce((sum, count) => sum + count, besides)
    const spent = await user.spent()
    expect(spent).to.be.at.most(limit)
    expect(spent).to.be.at.least(limit * 0.95)
    expect(spent).to.be.at.least(served * ANSWER_USD - 1e-12)
  })
})
