import { expect } from 'chai'
import { type Sandbox, startSandbox } from '../../providers/sandbox/server.ts'
import { chatBody, routingRuleBody } from '../support/bodies.ts'
import { askCached, type CachedAnswer, startCachingGateway } from '../support/cache.ts'
import { type Body, DIALECTS, lastWithFields, readRecords } from '../support/dialects.ts'
import { payTool } from '../support/example-packages.ts'
import type { RunningGateway } from '../support/gateway.ts'
import { scrape } from '../support/metrics.ts'
import { newUser, type TestUser } from '../support/new-user.ts'
import { MODELS, PROVIDERS } from '../support/providers.ts'
import { disconnectInMidStream } from '../support/streams.ts'

describe('the cache', function () {
  this.timeout(180_000)
  let sandbox: Sandbox
  let gateway: RunningGateway
  let user: TestUser
  before(async () => {
    sandbox = await startSandbox({ record: 10_000 })
    gateway = await startCachingGateway(sandbox)
  })
  after(async () => {
    await gateway?.stop()
    await sandbox?.close()
  })
  beforeEach(async () => {
    user = await newUser(gateway)
  })

  /** The number of calls that the providers have received. */
  const calls = () => sandbox.requests.length

  const chat = (body: object, headers?: Record<string, string>, caller = user) =>
    askCached(caller.key, `${gateway.url}/v1/chat/completions`, body, headers)

  const addRule = async (more: object) => {
    const { status, body } = await user.call('POST', '/v1/routing-rules', routingRuleBody(more))
    expect(status, JSON.stringify(body)).to.equal(201)
    return body.data.id
  }

  for (const [name, { url, body, textOf, deltaOf, streams }] of Object.entries(DIALECTS)) {
    it(`answers the second request without a provider, for nothing: ${name}`, async () => {
      const ask = () => askCached(user.key, url(gateway), body('gpt-4o', 'What is new?'))
      const miss = await ask()
      const before = calls()
      const hit = await ask()
      expect([miss.cache, hit.cache, calls() - before]).to.deep.equal(['miss', 'hit', 0])
      expect(textOf(hit.body)).to.equal(textOf(miss.body)).and.to.contain('What is new?')
      expect(hit.body.usage).to.deep.equal(miss.body.usage)
      expect(hit.body.id).not.to.equal(miss.body.id)
      expect(miss.body.signalbox.cache).to.equal('miss')
      expect(hit.body.signalbox).to.include({ cache: 'hit', cost_usd: 0 })
      expect(hit.body.metadata.cost_usd).to.equal('0')
      for (const header of ['x-provider', 'x-model', 'x-routing-mode'])
        expect(hit.headers.get(header)).to.equal(miss.headers.get(header))
    })

    if (!streams) continue
    it(`replays a stream with its chunks: ${name}`, async () => {
      const question = { ...body('gpt-4o', 'What is new on the line?'), stream: true }
      const ask = () => askCached(user.key, url(gateway), question)
      const [miss, hit] = [await ask(), await ask()]
      expect([miss.cache, hit.cache]).to.deep.equal(['miss', 'hit'])
      const chunksOf = ({ text }: CachedAnswer) => readRecords(text).map(deltaOf).filter(Boolean)
      expect(chunksOf(hit)).to.deep.equal(chunksOf(miss))
      expect(chunksOf(hit).length).to.be.above(5)
      expect(lastWithFields(hit.text).signalbox).to.include({ cache: 'hit', cost_usd: 0 })
    })
  }

  for (const provider of PROVIDERS) {
    it(`answers whole requests from streams and streams from whole replies: ${provider}`, async () => {
      const question = chatBody('Use the tool', { model: MODELS[provider], tools: [payTool('x')] })
      const other = chatBody('Use the tool twice', { model: MODELS[provider], tools: [payTool('x')] })
      const whole = ({ body }: CachedAnswer) => argumentsOf(body.choices[0].message.tool_calls)
      const streamed = ({ text }: CachedAnswer) =>
        argumentsOf(readRecords(text).flatMap(({ choices }) => choices?.[0]?.delta?.tool_calls ?? []))
      await chat({ ...question, stream: true })
      const fromStream = await chat(question)
      await chat(other)
      const fromWhole = await chat({ ...other, stream: true })
      expect([fromStream.cache, fromWhole.cache]).to.deep.equal(['hit', 'hit'])
      expect(whole(fromStream)).to.equal('{"card":"x","amount":1}')
      expect(streamed(fromWhole)).to.equal('{"card":"x","amount":1}')
    })
  }

  const argumentsOf = (toolCalls: Body[]) => toolCalls.map((call) => call.function?.arguments ?? '').join('')

  it("keeps the provider's other fields in whole replies", async () => {
    const question = chatBody('Hello', { unknown_field: 1 })
    const [miss, hit] = [await chat(question), await chat(question)]
    expect(miss.body.x_sandbox.unknown_fields).to.deep.equal(['unknown_field'])
    expect(hit.body.x_sandbox).to.deep.equal(miss.body.x_sandbox)
  })

  it('keeps warnings about the call of the provider', async () => {
    const question = chatBody('Hello', { model: MODELS.anthropic, seed: 7 })
    const [miss, hit] = [await chat(question), await chat(question)]
    expect(hit.cache).to.equal('hit')
    expect(hit.body.signalbox.warnings).to.deep.equal(miss.body.signalbox.warnings)
    expect(JSON.stringify(hit.body.signalbox.warnings)).to.contain('seed was omitted')
  })

  it('ignores what does not change the reply, and the order of fields', async () => {
    await chat({ model: 'gpt-4o', messages: [{ role: 'user', content: 'Hello' }] })
    const same: readonly object[] = [
      { messages: [{ content: 'Hello', role: 'user' }], model: 'gpt-4o' },
      chatBody('Hello', { user: 'somebody', metadata: { tag: 'x' }, store: true }),
      chatBody('Hello', { model: 'openai:gpt-4o', max_tokens: null, service_tier: 'default' }),
      chatBody('Hello', { stream: true, stream_options: { include_usage: true } }),
    ]
    for (const body of same) expect(await chat(body), JSON.stringify(body)).to.include({ cache: 'hit' })
  })

  it('asks again for another question, model, parameter or user', async () => {
    await chat(chatBody('Hello'))
    const other: readonly object[] = [
      chatBody('Hello!'),
      chatBody('Hello', { model: 'gpt-4o-mini' }),
      chatBody('Hello', { model: 'auto' }),
      chatBody('Hello', { model: 'auto:cost' }),
      chatBody('Hello', { max_tokens: 3000 }),
      chatBody('Hello', { tools: [payTool('x')] }),
      chatBody('Hello', { unknown_field: 1 }),
    ]
    for (const body of other) expect(await chat(body), JSON.stringify(body)).to.include({ cache: 'miss' })
    const stranger = await newUser(gateway)
    expect(await chat(chatBody('Hello'), {}, stranger)).to.include({ cache: 'miss' })
  })

  it('asks again when a rule routes elsewhere, and not when another rule changes', async () => {
    const question = chatBody('Hello', { model: 'auto' })
    const ask = async () => (await chat(question)).cache
    expect([await ask(), await ask()]).to.deep.equal(['miss', 'hit'])
    await addRule({ action_json: { add_warning: 'Seen.' } })
    expect(await ask()).to.equal('hit')
    const id = await addRule({ action_json: { set_provider: 'openai' } })
    const routed = await chat(question)
    expect(routed.cache).to.equal('miss')
    expect(routed.headers.get('x-provider')).to.equal('openai')
    expect(await ask()).to.equal('hit')
    await user.call('DELETE', `/v1/routing-rules/${id}`)
    const back = await chat(question)
    expect(back.cache).to.equal('hit')
    expect(back.headers.get('x-provider')).not.to.equal('openai')
  })

  describe('applies', () => {
    const cacheOf = async (body: object, headers = {}) => (await chat(body, headers)).cache

    it('to temperature 0, or with the header x-cache: on', async () => {
      for (const temperature of [1, null])
        for (let time = 0; time < 2; time++)
          expect(await cacheOf(chatBody('Hello', { temperature }))).to.equal(null)
      const body = chatBody('Hello', { temperature: 1 })
      expect(await cacheOf(body, { 'x-cache': 'on' })).to.equal('miss')
      expect(await cacheOf(body, { 'x-cache': 'on' })).to.equal('hit')
      expect(await cacheOf(body)).to.equal(null)
    })

    it('never with the header x-cache: no-store, which stores nothing either', async () => {
      expect(await cacheOf(chatBody('Hello'), { 'x-cache': 'no-store' })).to.equal(null)
      expect(await cacheOf(chatBody('Hello'))).to.equal('miss')
      expect(await cacheOf(chatBody('Hello'), { 'x-cache': 'no-store' })).to.equal(null)
    })

    it('with a header of another value not at all: 400', async () => {
      const { status, body } = await chat(chatBody('Hello'), { 'x-cache': 'yes' })
      expect(status).to.equal(400)
      expect(body.error).to.include({ code: 'invalid_value', param: 'x-cache' })
    })

    it('where a routing rule switches it on, with a time of its own', async () => {
      await addRule({ match_json: { contains: 'timetable' }, action_json: { cache: { ttl: 600 } } })
      const body = (text: string) => chatBody(text, { temperature: 1 })
      expect(await cacheOf(body('The timetable, please'))).to.equal('miss')
      expect(await cacheOf(body('The timetable, please'))).to.equal('hit')
      expect(await cacheOf(body('A poem, please'))).to.equal(null)
      expect(await cacheOf(body('The timetable, please'), { 'x-cache': 'no-store' })).to.equal(null)
    })

    it('where no routing rule switches it off', async () => {
      for (const [text, cache] of Object.entries({ news: false, weather: { ttl: 0 } })) {
        await addRule({ match_json: { contains: text }, action_json: { cache } })
        expect(await cacheOf(chatBody(`The ${text}?`))).to.equal(null)
        expect(await cacheOf(chatBody(`The ${text}?`), { 'x-cache': 'on' })).to.equal(null)
      }
      expect(await cacheOf(chatBody('The time?'))).to.equal('miss')
    })

    it('with rules that are valid only', async () => {
      for (const cache of [true, {}, { ttl: -1 }, { ttl: 1.5 }, { ttl: 60, more: 1 }, 'on']) {
        const rule = routingRuleBody({ action_json: { cache } })
        const { status, body } = await user.call('POST', '/v1/routing-rules', rule)
        expect(status, JSON.stringify(cache)).to.equal(422)
        expect(JSON.stringify(body)).to.contain('cache must be false or an object')
      }
    })
  })

  describe('does not keep', () => {
    /** Asks twice. The second request must call the provider, too. */
    async function expectTwoCalls(body: object): Promise<CachedAnswer> {
      const before = calls()
      const first = await chat(body)
      expect([first.cache, (await chat(body)).cache]).to.deep.equal(['miss', 'miss'])
      expect(calls() - before).to.be.at.least(2)
      return first
    }

    for (const stream of [false, true]) {
      const form = stream ? 'streamed' : 'whole'
      it(`refusals: ${form}`, async () => {
        const { text } = await expectTwoCalls(chatBody('Hello [[sandbox:refuse]]', { stream }))
        expect(text).to.contain('content_filter')
      })

      it(`replies that reached the token limit: ${form}`, async () => {
        const { text } = await expectTwoCalls(chatBody('Hello', { max_tokens: 2, stream }))
        expect(text).to.contain('"length"')
      })

      it(`errors: ${form}`, async () => {
        const body = chatBody('Hello [[sandbox:status=400]]', { stream })
        expect((await expectTwoCalls(body)).status).to.equal(400)
      })
    }

    it('streams that break off', async () => {
      await expectTwoCalls(chatBody('Hello [[sandbox:error-mid=5 token-delay=5]]', { stream: true }))
      await expectTwoCalls(chatBody('Hello [[sandbox:eof=5 token-delay=5]]', { stream: true }))
    })

    it('streams whose client disconnects', async () => {
      const body = chatBody('Tell me all [[sandbox:token-delay=20]]', { temperature: 0 })
      const caller = { ...gateway, demoKey: user.key }
      await disconnectInMidStream(caller, body, 'said')
      const before = calls()
      expect(await chat(body)).to.include({ cache: 'miss' })
      expect(calls() - before).to.equal(1)
    })

    it('replies of more than a megabyte', async () => {
      await expectTwoCalls(chatBody('x'.repeat(1_100_000)))
    })
  })

  it('counts requests by outcome, and neither tokens nor cost of hits', async () => {
    const before = await scrape(gateway)
    const { body } = await chat(chatBody('Hello'))
    await chat(chatBody('Hello'))
    await chat(chatBody('Hello', { temperature: 1 }), {})
    const skipped = await chat(chatBody('Hello', { temperature: 1 }))
    const after = await scrape(gateway)
    const more = (name: string, labels = {}) => after.sum(name, labels) - before.sum(name, labels)
    const requests = 'signalbox_cache_requests_total'
    const counts = ['hit', 'miss', 'skipped', 'unavailable'].map((outcome) => more(requests, { outcome }))
    expect(counts).to.deep.equal([1, 1, 2, 0])
    const { cost_usd } = body.signalbox
    expect(more('signalbox_cost_usd_total')).to.be.closeTo(
      cost_usd + 2 * skipped.body.signalbox.cost_usd,
      1e-9,
    )
    expect(more('signalbox_tokens_total', { type: 'input' })).to.equal(3 * body.usage.prompt_tokens)
  })
})
