import { expect } from 'chai'
import { type Sandbox, startSandbox } from '../../providers/sandbox/server.ts'
import { chatBody, firewallRuleBody } from '../support/bodies.ts'
import { askCached, startCachingGateway } from '../support/cache.ts'
import { NO_REDIS } from '../support/example-packages.ts'
import type { RunningGateway } from '../support/gateway.ts'
import { scrape } from '../support/metrics.ts'
import { newUser, type TestUser } from '../support/new-user.ts'
import { type RunningRedis, requireRedis } from '../support/redis.ts'

const EVALUATED = 'firewall: { evaluate_responses: true }\n'

describe('who sees cached replies', function () {
  this.timeout(180_000)
  let sandbox: Sandbox
  /** Gateways by the option `shared`. */
  const gateways = new Map<boolean, RunningGateway>()
  before(async () => {
    sandbox = await startSandbox()
    for (const shared of [false, true])
      gateways.set(shared, await startCachingGateway(sandbox, { options: { shared }, more: EVALUATED }))
  })
  after(async () => {
    for (const gateway of gateways.values()) await gateway.stop()
    await sandbox?.close()
  })

  const gatewayOf = (shared: boolean) => gateways.get(shared) ?? expect.fail('the gateway did not start')

  const ask = (gateway: RunningGateway, { key }: Pick<TestUser, 'key'>, text: string, more = {}) =>
    askCached(key, `${gateway.url}/v1/chat/completions`, chatBody(text, more))

  async function addFirewallRule(user: TestUser, more: object): Promise<void> {
    const { status } = await user.call('POST', '/v1/firewall-rules', firewallRuleBody(more))
    expect(status).to.equal(201)
  }

  it('are one user, whatever key asks', async () => {
    const gateway = gatewayOf(false)
    const [ada, bob] = [await newUser(gateway), await newUser(gateway)]
    expect(await ask(gateway, ada, 'Mine')).to.include({ cache: 'miss' })
    expect(await ask(gateway, await ada.issueKey(), 'Mine')).to.include({ cache: 'hit' })
    expect(await ask(gateway, bob, 'Mine')).to.include({ cache: 'miss' })
    // The same metadata and `user` of the body make no difference.
    expect(await ask(gateway, await newUser(gateway), 'Mine', { user: 'ada' })).to.include({ cache: 'miss' })
  })

  it('are all users with shared: true', async () => {
    const gateway = gatewayOf(true)
    const [ada, bob] = [await newUser(gateway), await newUser(gateway)]
    expect(await ask(gateway, ada, 'Ours')).to.include({ cache: 'miss' })
    expect(await ask(gateway, bob, 'Ours')).to.include({ cache: 'hit' })
  })

  for (const shared of [false, true]) {
    it(`see what their masks leave of the request, with shared: ${shared}`, async () => {
      const gateway = gatewayOf(shared)
      const [open, masked] = [await newUser(gateway), await newUser(gateway)]
      await addFirewallRule(masked, { pattern: 'Smith', replacement: '[name]' })
      const plain = await ask(gateway, open, 'Who is Smith?')
      expect(plain.text).to.contain('Smith')
      const first = await ask(gateway, masked, 'Who is Smith?')
      expect(first.cache).to.equal('miss')
      expect(first.text).to.contain('Who is [name]?').and.not.to.contain('Smith')
      // After the mask, these are the same request.
      expect(await ask(gateway, masked, 'Who is [name]?')).to.include({ cache: 'hit' })
      expect((await ask(gateway, open, 'Who is [name]?')).cache).to.equal(shared ? 'hit' : 'miss')
      await addFirewallRule(open, { pattern: 'Smith', action: 'block' })
      const blocked = await ask(gateway, open, 'Who is Smith?')
      expect([blocked.status, blocked.cache]).to.deep.equal([403, null])
      expect(blocked.text).not.to.contain('You said')
    })

    for (const stream of [false, true]) {
      const form = stream ? 'streamed' : 'whole'
      it(`see what the current rules of replies leave, with shared: ${shared}, ${form}`, async () => {
        const gateway = gatewayOf(shared)
        const user = await newUser(gateway)
        const question = () => ask(gateway, user, 'About the express', { stream })
        const rule = { scope: 'response', pattern: 'express', replacement: '[train]' }
        expect((await question()).text).to.contain('express')
        await addFirewallRule(user, rule)
        const masked = await question()
        expect(masked.cache).to.equal('hit')
        expect(masked.text).to.contain('[train]').and.not.to.contain('express')
        // Stored before the mask: another user, or the same one without the rule, sees the reply as it was.
        if (shared) {
          const other = await ask(gateway, await newUser(gateway), 'About the express', { stream })
          expect(other.cache).to.equal('hit')
          expect(other.text).to.contain('express')
        }
        await addFirewallRule(user, { scope: 'response', pattern: 'About', action: 'block' })
        const blocked = await question()
        expect(blocked.text).not.to.contain('About')
        expect(blocked.text).to.contain('blocked')
      })
    }

    it(`see nothing of replies that only others may get, with shared: ${shared}`, async () => {
      const gateway = gatewayOf(shared)
      const [one, other] = [await newUser(gateway), await newUser(gateway)]
      const rule = { name: 'Mini', is_enabled: true, priority: 0, match_json: {} }
      const action_json = { set_model: 'gpt-4o-mini' }
      await other.call('POST', '/v1/routing-rules', { ...rule, action_json })
      await ask(gateway, one, 'Which model?')
      const answer = await ask(gateway, other, 'Which model?')
      expect(answer.cache).to.equal('miss')
      expect(answer.headers.get('x-model')).to.equal('gpt-4o-mini')
    })
  }

  for (const streams of [
    [false, false],
    [true, true],
    [false, true],
    [true, false],
  ] as const)
    it(`are callers of messages, whatever else they say about themselves: ${streams.map((each) => (each ? 'stream' : 'whole'))}`, async () => {
      const gateway = gatewayOf(true)
      const url = `${gateway.url}/v1/messages`
      for (const model of ['claude-sonnet-4-5', 'gpt-4o']) {
        const text = `Of messages with ${model}, ${streams.join()}`
        const [first, second] = [await newUser(gateway), await newUser(gateway)]
        const block = { type: 'text', text, cache_control: { type: 'ephemeral' } }
        const one = { messages: [{ role: 'user', content: text }], metadata: { user_id: 'one' } }
        const two = { messages: [{ role: 'user', content: [block] }], service_tier: 'standard_only' }
        const common = { model, max_tokens: 100 }
        const version = { 'anthropic-version': '2023-06-01' }
        const asked = await askCached(first.key, url, { ...common, ...one, stream: streams[0] })
        expect([asked.status, asked.cache], asked.text).to.deep.equal([200, 'miss'])
        const again = await askCached(second.key, url, { ...common, ...one, stream: streams[1] }, version)
        expect(again.cache).to.equal('hit')
        const marked = await askCached(second.key, url, { ...common, ...two, stream: streams[1] })
        expect(marked.cache).to.equal('hit')
        const chat = { model, messages: one.messages, max_completion_tokens: 100, stream: streams[1] }
        const other = await askCached(second.key, `${gateway.url}/v1/chat/completions`, chat)
        expect(other.cache).to.equal('hit')
        const more = { ...common, ...one, top_k: 3, stream: streams[1] }
        expect((await askCached(second.key, url, more)).cache).to.equal('miss')
      }
    })

  it('are users of all gateways with the same Redis, and none while it is away', async function () {
    const redis: RunningRedis = await requireRedis(this)
    const options = { options: { shared: true }, environment: { REDIS_URL: redis.url } }
    const first = await startCachingGateway(sandbox, options)
    const second = await startCachingGateway(sandbox, options)
    try {
      const asked = async (gateway: RunningGateway) =>
        (await ask(gateway, { key: gateway.demoKey }, 'Shared by machines')).cache
      expect([await asked(first), await asked(second)]).to.deep.equal(['miss', 'hit'])
      const [key = ''] = (await redis.client.keys('*')).filter((name) => name.includes('store:cache:'))
      expect(key).to.match(/shared:[\w-]{43}$/)
      expect(await redis.client.pttl(key)).to.be.within(3_500_000, 3_600_000)
      const reply = JSON.parse((await redis.client.get(key)) ?? '')
      const damages: readonly object[] = [
        ...[{ content: null }, { content: { type: 'whole', parts: [null] } }, { warnings: 7 }],
        ...[{ content: { type: 'stream', batches: [[{}]] } }, { target: 'x' }],
        { content: { type: 'whole', parts: [{ type: 'unknown' }] } },
      ]
      for (const damage of damages) {
        await redis.client.set(key, JSON.stringify({ ...reply, ...damage }))
        expect(await asked(first), JSON.stringify(damage)).to.equal('miss')
        expect(await asked(second)).to.equal('hit')
      }
      await redis.kill()
      expect([await asked(first), await asked(second)]).to.deep.equal(['miss', 'miss'])
    } finally {
      await Promise.all([first.stop(), second.stop(), redis.stop()])
    }
  })

  it('get an answer while Redis is unavailable', async () => {
    const gateway = await startCachingGateway(sandbox, { environment: NO_REDIS })
    for (let time = 0; time < 2; time++) {
      const answer = await ask(gateway, { key: gateway.demoKey }, 'Hello')
      expect(answer).to.include({ status: 200, cache: 'miss' })
    }
    const { sum } = await scrape(gateway)
    expect(sum('signalbox_cache_requests_total', { outcome: 'unavailable' })).to.equal(2)
    await gateway.stop()
  })
})
