import { expect } from 'chai'
import { chatBody } from '../support/bodies.ts'
import { budgetOf, setBudget } from '../support/budgets.ts'
import { playStorm, withProvider } from '../support/chat-storm.ts'
import { type PriceOf, readPrices, tokensOf } from '../support/costs.ts'
import { type Body, DIALECTS, readRecords } from '../support/dialects.ts'
import { postAs } from '../support/example-packages.ts'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import { type Scrape, scrape, scrapeUntil } from '../support/metrics.ts'
import { newUser } from '../support/new-user.ts'
import { completionOf, type ScriptedProvider, startScriptedProvider } from '../support/scripted-provider.ts'
import { disconnectInMidStream, post, receivedText } from '../support/streams.ts'

const COST = 'signalbox_cost_usd_total'
const TOKENS = 'signalbox_tokens_total'

/** Billionths of a dollar, the unit to which costs are rounded. */
const toNanos = (usd: number) => Math.round(usd * 1e9)

describe('the cost of a request', () => {
  let gateway: RunningGateway
  let priceOf: PriceOf
  before(async () => {
    gateway = await startGateway()
    priceOf = await readPrices(gateway)
  })
  after(() => gateway.stop())

  for (const [name, { url, body, streams }] of Object.entries(DIALECTS)) {
    it(`is on every answer, typed and as a string: ${name}`, async () => {
      const response = await postAs(gateway.demoKey, url(gateway), body('gpt-4o', 'What does it cost?'))
      const answer: Body = await response.json()
      const expected = priceOf(response.headers.get('x-model') ?? '', tokensOf(answer))
      expect(toNanos(answer.signalbox.cost_usd)).to.equal(toNanos(expected)).and.to.be.above(0)
      expect(Number(answer.metadata.cost_usd)).to.equal(answer.signalbox.cost_usd)
      if (name === 'route') expect(answer.router_meta.estimated_cost).to.equal(answer.signalbox.cost_usd)
    })

    if (!streams) continue
    it(`is on the last record of a stream, and not before: ${name}`, async () => {
      const question = { ...body('gpt-4o', 'Hello'), stream: true, stream_options: { include_usage: true } }
      const text = await receivedText(await postAs(gateway.demoKey, url(gateway), question))
      const carriers = readRecords(text)
        .map((record) => record.response ?? record)
        .filter(({ signalbox }) => signalbox)
      const last = carriers.pop()
      expect(toNanos(last.signalbox.cost_usd)).to.equal(toNanos(priceOf('gpt-4o', tokensOf(last))))
      expect(Number(last.metadata.cost_usd)).to.equal(last.signalbox.cost_usd)
      for (const { signalbox, metadata } of carriers)
        expect({ ...metadata, ...signalbox }).not.to.have.property('cost_usd')
    })
  }

  it('has no more than nine decimals', async () => {
    for (let words = 1; words < 8; words++) {
      const question = chatBody('so many words '.repeat(words), { model: 'auto:cost' })
      const { body } = await gateway.call('POST', '/v1/chat/completions', question)
      const { cost_usd } = body.signalbox
      expect(cost_usd).to.equal(Number(cost_usd.toFixed(9)))
    }
  })
})

describe('the cost of the tier priority', () => {
  let provider: ScriptedProvider
  let gateway: RunningGateway
  before(async () => {
    provider = await startScriptedProvider()
    gateway = await startGateway(withProvider(provider))
  })
  after(async () => {
    await gateway.stop()
    provider.close()
  })

  async function ask(service_tier: string, served: string, limit = 4) {
    const user = await newUser(gateway)
    playStorm(provider)
    const { body } = await user.call('POST', '/v1/chat/completions', chatBody('Hello', { max_tokens: 40 }))
    const usual: number = body.signalbox.cost_usd
    provider.play({ body: { ...completionOf(10, 40), service_tier: served } })
    await setBudget(gateway, budgetOf.user(user.id), { limit_usd: limit * usual })
    const asked = chatBody('Hello', { max_tokens: 40, service_tier })
    const { status, body: answer } = await user.call('POST', '/v1/chat/completions', asked)
    return { status, ratio: answer.signalbox?.cost_usd / usual }
  }

  it('is twice the usual one, by the tier that served the request', async () => {
    expect(await ask('auto', 'priority')).to.deep.equal({ status: 200, ratio: 2 })
    expect(await ask('auto', 'default')).to.deep.equal({ status: 200, ratio: 1 })
  })

  it("counts, too, when OpenAI's Responses API is asked", async () => {
    const tools = [{ type: 'function', function: { name: 'search' } }]
    const costOf = async (service_tier: string) => {
      const usage = { input_tokens: 10, output_tokens: 40 }
      const output = [{ type: 'message', content: [{ type: 'output_text', text: 'Hi' }] }]
      provider.play({
        body: { id: 'r', object: 'response', status: 'completed', output, service_tier, usage },
      })
      const question = chatBody('Hello', { model: 'gpt-6.2-sol', tools })
      return (await gateway.call('POST', '/v1/chat/completions', question)).body.signalbox.cost_usd
    }
    const usual = await costOf('default')
    expect(usual).to.be.above(0)
    expect(await costOf('priority')).to.equal(2 * usual)
  })

  it('is reserved in budgets', async () => {
    // Half as much again as the usual price of the request is left.
    for (const tier of ['priority', 'auto']) expect((await ask(tier, 'default', 2.5)).status).to.equal(402)
    expect((await ask('default', 'default', 2.5)).status).to.equal(200)
  })
})

describe('the metrics of costs', () => {
  let gateway: RunningGateway
  let priceOf: PriceOf
  before(async () => {
    gateway = await startGateway()
    priceOf = await readPrices(gateway)
  })
  after(() => gateway.stop())

  // Each test asks a model of its own, so that the tests share a gateway.
  const labelsOf = (model: string) => ({ provider: 'openai', model })

  /** Scrapes once the model has cost something. */
  const scrapeCost = (model: string) => scrapeUntil(gateway, ({ sum }) => sum(COST, labelsOf(model)) > 0)

  /** What the counted tokens cost, in billionths. */
  function priceCounted({ sum }: Scrape, model: string): number {
    const count = (type: string) => sum(TOKENS, { ...labelsOf(model), type })
    const tokens = { cached: count('cached'), cacheWrite: count('cache_write') }
    return toNanos(priceOf(model, { input: count('input'), output: count('output'), ...tokens }))
  }

  it('count replies without a price, whose cost is null and not 0', async () => {
    const question = chatBody('Hello', { model: 'openai:my-own-model' })
    const { body } = await gateway.call('POST', '/v1/chat/completions', question)
    expect(body.signalbox).to.have.property('cost_usd', null)
    expect(body.metadata).not.to.have.property('cost_usd', 0)
    const unknown = { provider: 'openai', reason: 'price' }
    const { sum } = await scrapeUntil(gateway, ({ sum }) => sum('signalbox_cost_unknown_total', unknown) > 0)
    expect(sum('signalbox_cost_unknown_total')).to.equal(1)
    expect(sum(COST, labelsOf('other'))).to.equal(0)
    expect(sum(TOKENS, { ...labelsOf('other'), type: 'input' })).to.equal(body.usage.prompt_tokens)
  })

  it('count the estimate of a stream whose client disconnects', async () => {
    const before = await scrape(gateway)
    const question = 'Tell me about railways. '.repeat(20)
    const body = chatBody(`${question}[[sandbox:token-delay=30]]`, { model: 'gpt-4o' })
    // The reply quotes the question.
    await disconnectInMidStream(gateway, body, 'railways')
    const metrics = await scrapeCost('gpt-4o')
    expect(metrics.sum(TOKENS, { ...labelsOf('gpt-4o'), type: 'input' })).to.be.closeTo(120, 20)
    expect(metrics.sum(TOKENS, { ...labelsOf('gpt-4o'), type: 'output' })).to.be.within(1, 100)
    expect(toNanos(metrics.sum(COST, labelsOf('gpt-4o')))).to.equal(priceCounted(metrics, 'gpt-4o'))
    // This histogram has what providers counted only.
    const counted = 'gen_ai_client_token_usage_count'
    expect(metrics.sum(counted)).to.equal(before.sum(counted))
  })

  it('count the input that the provider has reported when the client disconnects', async () => {
    const [provider, model] = ['anthropic', 'claude-sonnet-4-6']
    const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } }
    const text = { type: 'text', text: 'A picture of rails [[sandbox:token-delay=30]]' }
    const body = { model, messages: [{ role: 'user', content: [text, image] }] }
    await disconnectInMidStream(gateway, body, 'picture')
    const labels = { provider, model, type: 'input' }
    const { sum } = await scrapeUntil(gateway, ({ sum }) => sum(TOKENS, labels) > 0)
    // An estimate has 1,000 for the image, of which the sandbox counts nothing.
    expect(sum(TOKENS, labels)).to.be.below(100)
    expect(sum(TOKENS, { ...labels, type: 'output' })).to.be.within(1, 100)
  })

  it('count the estimate of a stream that breaks off, which the failed response shows', async () => {
    const model = 'gpt-4o-mini'
    const question = { model, stream: true, input: 'Hello [[sandbox:error-mid=4 token-delay=5]]' }
    const text = await receivedText(await post(gateway, '/v1/responses', question))
    const { type, response } = readRecords(text).at(-1)
    expect(type).to.equal('response.failed')
    expect(response.signalbox.cost_usd).to.be.above(0)
    const metrics = await scrapeCost(model)
    expect(metrics.sum(COST, labelsOf(model))).to.equal(response.signalbox.cost_usd)
    expect(toNanos(response.signalbox.cost_usd)).to.equal(priceCounted(metrics, model))
  })

  it('count the prompt if the client disconnects before the reply', async () => {
    const model = 'gpt-4.1'
    const lookups = ({ sum }: Scrape) => sum('signalbox_cache_lookups_total', { cache: 'routing' })
    const before = lookups(await scrape(gateway))
    const controller = new AbortController()
    const { signal } = controller
    const body = chatBody(`${'word '.repeat(400)}[[sandbox:hang]]`, { model })
    const call = post(gateway, '/v1/chat/completions', body, { signal }).catch(() => undefined)
    await scrapeUntil(gateway, (metrics) => lookups(metrics) > before)
    controller.abort()
    await call
    const metrics = await scrapeCost(model)
    expect(metrics.sum(TOKENS, { ...labelsOf(model), type: 'input' })).to.be.within(400, 440)
    expect(metrics.sum(TOKENS, { ...labelsOf(model), type: 'output' })).to.equal(0)
    expect(toNanos(metrics.sum(COST, labelsOf(model)))).to.equal(priceCounted(metrics, model))
  })

  it('count the reply after a failover, and nothing for the attempt that failed', async () => {
    const before = (await scrape(gateway)).sum(COST)
    const content = 'Hello [[sandbox:status=500 times=1]]'
    const question = chatBody(content, { model: 'auto:quality' })
    const { headers, body } = await gateway.call('POST', '/v1/chat/completions', question)
    const labels = { provider: headers.get('x-provider') ?? '', model: headers.get('x-model') ?? '' }
    const { sum } = await scrapeUntil(gateway, ({ sum }) => sum(COST, labels) > 0)
    expect(sum(COST, labels)).to.equal(body.signalbox.cost_usd)
    expect(toNanos(sum(COST) - before)).to.equal(toNanos(body.signalbox.cost_usd))
  })

  it('count nothing for a request that is refused before a provider is called', async () => {
    const before = await scrape(gateway)
    await gateway.call('POST', '/v1/chat/completions', chatBody('Hello', { model: 'no-such-model' }))
    const requests = 'signalbox_http_requests_total'
    const refused = { endpoint: '/v1/chat/completions', status: '404' }
    const after = await scrapeUntil(gateway, ({ sum }) => sum(requests, refused) === 1)
    for (const name of [COST, TOKENS, 'signalbox_cost_unknown_total'])
      expect(after.sum(name), name).to.equal(before.sum(name))
  })
})
