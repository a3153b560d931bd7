import { expect } from 'chai'
import { makeFolder } from '../support/folders.ts'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import { BUILT_IN, installAll, listPlugins } from '../support/plugins.ts'
import { type RunningRedis, requireRedis } from '../support/redis.ts'
import { installTally } from '../support/tally-plugin.ts'
import { waitUntil } from '../support/wait.ts'

describe('counters and records of plugins', () => {
  it('belong to the process without Redis', async () => {
    const { folder, CONFIG } = await installTally()
    const gateway = await startGateway({ CONFIG }, { pluginFolder: folder })
    await gateway.call('POST', '/v1/tally')
    await gateway.call('PUT', '/v1/tally', { n: 7 })
    const { data } = (await gateway.call('GET', '/v1/tally')).body
    expect(data).to.deep.include({ total: 1, record: { n: 7 } })
    expect(data.resetMs).to.be.within(1, 60_000)
    await gateway.stop()
  })

  describe('in Redis', function () {
    this.timeout(180_000)
    let redis: RunningRedis
    let gateways: readonly RunningGateway[] = []
    before(async function () {
      redis = await requireRedis(this, 'a-redis-password')
      const { folder, CONFIG } = await installTally()
      const start = (demoKey?: string, dataDir?: string) =>
        startGateway(
          { CONFIG, REDIS_URL: redis.url },
          { pluginFolder: folder, ...(demoKey && { demoKey }), ...(dataDir && { dataDir }) },
        )
      const first = await start()
      gateways = [first, await start(first.demoKey, first.dataDir)]
    })
    after(async () => {
      await Promise.all(gateways.map((gateway) => gateway.stop()))
      await redis?.stop()
    })

    it('are shared by all gateways', async () => {
      const [first, second] = gateways
      const calls = Array.from({ length: 40 }, (_, index) => gateways[index % 2]?.call('POST', '/v1/tally'))
      const totals = (await Promise.all(calls)).map((answer) => answer?.body.data.total)
      expect(totals.sort((a, b) => a - b)).to.deep.equal(Array.from({ length: 40 }, (_, index) => index + 1))

      await first?.call('PUT', '/v1/tally', { n: 7 })
      expect((await second?.call('GET', '/v1/tally'))?.body.data).to.deep.include({
        total: 40,
        record: { n: 7 },
      })
      await second?.call('DELETE', '/v1/tally')
      expect((await first?.call('GET', '/v1/tally'))?.body.data).not.to.have.property('record')
    })

    it('expire there', async () => {
      await gateways[0]?.call('PUT', '/v1/tally', { n: 7 })
      const keys = await redis.client.keys('signalbox:*tally*')
      expect(keys.sort()).to.deep.equal(['signalbox:counters:tally:requests', 'signalbox:store:tally:record'])
      for (const key of keys) expect(await redis.client.pttl(key)).to.be.within(1, 60_000)
    })

    it('reject with a typed error while Redis is away, and work again afterwards', async () => {
      const [gateway] = gateways
      await redis.kill()
      for (const method of ['POST', 'GET', 'DELETE']) {
        const { body } = (await gateway?.call(method, '/v1/tally')) ?? {}
        expect(body.unavailable).to.match(/^The shared state is unavailable: Redis: /)
      }
      await redis.restart()
      await waitUntil(async () => (await gateway?.call('POST', '/v1/tally'))?.body.data?.total === 1)
      expect(gateway?.stderr())
        .to.contain('redis unavailable; retrying')
        .and.not.to.contain('a-redis-password')
    })
  })
})

describe('host.costOf', () => {
  const COSTS = `export default {
    name: 'costs', contract: 3,
    setup: (_, { costOf }) => ({
      reply(exchange, next) {
        const usage = { input: 1000000, cached: 400000, output: 100000 }
        const [target] = exchange.route.targets
        const { model, provider } = target
        const costs = [
          costOf(usage, target), costOf(usage, { model, provider }), costOf(usage, { provider, model: 'none' }),
          costOf(usage, { provider: 'none', model }),
        ]
        exchange.res.setDefaultHeader('x-costs', JSON.stringify(costs))
        return next()
      },
    }),
  }`

  it('is the cost by the catalogue, with cached tokens at their price', async () => {
    const folder = await installAll({ costs: COSTS })
    const file = await listPlugins(await makeFolder(), ['costs', ...BUILT_IN])
    const gateway = await startGateway({ CONFIG: file }, { pluginFolder: folder })
    const ask = async (model: string) => {
      const messages = [{ role: 'user', content: 'Hello' }]
      const { headers } = await gateway.call('POST', '/v1/chat/completions', { model, messages })
      return JSON.parse(headers.get('x-costs') ?? '[]')
    }
    // 600,000 × 2.50 + 400,000 × 1.25 + 100,000 × 10 US dollars per million tokens
    expect(await ask('gpt-4o')).to.deep.equal([3, 3, null, null])
    expect(await ask('openai:no-such-model')).to.deep.equal([null, null, null, null])
    await gateway.stop()
  })
})
