import { expect } from 'chai'
import { chatBody } from '../../support/bodies.ts'
import { type Body, DIALECTS, readRecords } from '../../support/dialects.ts'
import { NO_REDIS, payTool, postAs, startWithExamples } from '../../support/example-packages.ts'
import type { RunningGateway } from '../../support/gateway.ts'
import { newUser, type TestUser } from '../../support/new-user.ts'
import { MODELS, PROVIDERS } from '../../support/providers.ts'
import { receivedText } from '../../support/streams.ts'

describe('signalbox-exact-cache', function () {
  this.timeout(180_000)
  let gateway: RunningGateway
  let user: TestUser
  before(async () => {
    gateway = await startWithExamples({ inner: ['signalbox-exact-cache'] })
  })
  after(() => gateway.stop())
  beforeEach(async () => {
    user = await newUser(gateway)
  })

  interface CachedAnswer {
    readonly cache: string | null
    /** The number of provider calls. */
    readonly attempts: number
    readonly text: string
  }

  async function ask(url: string, body: object, caller = user): Promise<CachedAnswer> {
    const response = await postAs(caller.key, url, { temperature: 0, ...body })
    const text = await receivedText(response)
    expect(response.status, text).to.equal(200)
    const id = response.headers.get('x-request-id')
    const { data } = (await caller.call('GET', `/v1/requests/${id}`)).body
    return { cache: response.headers.get('x-cache'), attempts: data.attempts.length, text }
  }

  for (const [name, { url, body, textOf, deltaOf, streams }] of Object.entries(DIALECTS)) {
    it(`answers the second request without a provider call: ${name}`, async () => {
      const question = body('gpt-4o', 'What is new?')
      const first = await ask(url(gateway), question)
      expect(first).to.include({ cache: 'miss', attempts: 1 })

      const second = await ask(url(gateway), question)
      expect(second).to.include({ cache: 'hit', attempts: 0 })
      const [miss, hit]: [Body, Body] = [JSON.parse(first.text), JSON.parse(second.text)]
      expect(textOf(hit)).to.equal(textOf(miss)).and.to.contain('What is new?')
      expect(hit.usage.total_tokens).to.equal(miss.usage.total_tokens)
      expect(hit.id).not.to.equal(miss.id)
    })

    if (!streams) continue
    it(`answers the second stream without a provider call: ${name}`, async () => {
      const question = { ...body('gpt-4o', 'What is new?'), stream: true }
      const first = await ask(url(gateway), question)
      const second = await ask(url(gateway), question)

      expect([first, second].map(({ cache, attempts }) => [cache, attempts])).to.deep.equal([
        ['miss', 1],
        ['hit', 0],
      ])
      const [miss, hit] = [first, second].map(({ text }) => readRecords(text).map(deltaOf).join(''))
      expect(hit).to.equal(miss).and.to.contain('What is new?')
    })
  }

  for (const provider of PROVIDERS) {
    it(`keeps tool calls, whole and streamed: ${provider}`, async () => {
      const url = `${gateway.url}/v1/chat/completions`
      const question = chatBody('Use the tool', { model: MODELS[provider], tools: [payTool('x')] })
      const callsOf = ({ text }: CachedAnswer) =>
        JSON.parse(text).choices[0].message.tool_calls.map((call: Body) => call.function)
      const first = await ask(url, { ...question, stream: true })
      const whole = await ask(url, question)
      const streamed = await ask(url, { ...question, stream: true })

      expect([first, whole, streamed].map(({ cache }) => cache)).to.deep.equal(['miss', 'hit', 'hit'])
      expect(callsOf(whole)).to.deep.equal([{ name: 'pay', arguments: '{"card":"x","amount":1}' }])
      const pieces = readRecords(streamed.text).flatMap(
        ({ choices }) => choices?.[0]?.delta?.tool_calls ?? [],
      )
      expect(pieces.map((call: Body) => call.function?.arguments ?? '').join('')).to.equal(
        '{"card":"x","amount":1}',
      )
    })
  }

  it('asks again for other users, other questions and other models', async () => {
    const url = `${gateway.url}/v1/chat/completions`
    await ask(url, chatBody('Hello'))
    expect(await ask(url, chatBody('Hello'))).to.include({ cache: 'hit' })
    expect(await ask(url, chatBody('Hello'), await newUser(gateway))).to.include({ cache: 'miss' })
    expect(await ask(url, chatBody('Hello!'))).to.include({ cache: 'miss' })
    expect(await ask(url, chatBody('Hello', { model: 'gpt-4o-mini' }))).to.include({ cache: 'miss' })
    expect(await ask(url, chatBody('Hello', { max_tokens: 3 }))).to.include({ cache: 'miss' })
  })

  it('asks again when a rule routes to another model', async () => {
    const url = `${gateway.url}/v1/chat/completions`
    await ask(url, chatBody('Hello', { model: 'auto' }))
    const rule = { name: 'Mini', is_enabled: true, priority: 1, match_json: {} }
    const action_json = { set_model: 'gpt-4o-mini' }
    expect((await user.call('POST', '/v1/routing-rules', { ...rule, action_json })).status).to.equal(201)
    expect(await ask(url, chatBody('Hello', { model: 'auto' }))).to.include({ cache: 'miss' })
  })

  it('leaves other temperatures alone', async () => {
    const url = `${gateway.url}/v1/chat/completions`
    for (const temperature of [1, null]) {
      await ask(url, chatBody('Hello', { temperature }))
      const again = await ask(url, chatBody('Hello', { temperature }))
      expect(again).to.include({ cache: null, attempts: 1 })
    }
  })

  it('does not keep replies that failed', async () => {
    const url = `${gateway.url}/v1/chat/completions`
    const question = chatBody('Hello [[sandbox:error-mid=5 token-delay=5 times=1]]', { stream: true })
    expect((await ask(url, question)).text).to.contain('error')
    expect(await ask(url, question)).to.include({ cache: 'miss', attempts: 1 })
    expect(await ask(url, question)).to.include({ cache: 'hit', attempts: 0 })
  })

  it('costs nothing while Redis is unavailable', async () => {
    const withoutRedis = await startWithExamples(
      { inner: [{ use: 'signalbox-exact-cache', options: { any_temperature: true } }] },
      NO_REDIS,
    )
    for (let number = 0; number < 2; number++) {
      const answer = await withoutRedis.call('POST', '/v1/chat/completions', chatBody('Hello'))
      expect(answer.status).to.equal(200)
      expect(answer.headers.get('x-cache')).to.equal('miss')
    }
    await withoutRedis.stop()
  })
})
