import { expect } from 'chai'
import {
  expectExactDeployments,
  resetDeployments,
  STORM_LIMITS,
  startDeployments,
  type TwoDeployments,
  withDeployments,
} from '../support/deployments.ts'
import {
  type Answer,
  AS_ADMIN,
  type RunningGateway,
  startGateway,
  startGatewayOnFiles,
} from '../support/gateway.ts'
import { scrapeUntil } from '../support/metrics.ts'
import { requireRedis } from '../support/redis.ts'
import { itInFull } from '../support/rounds.ts'
import { chunk, completionOf, startScriptedProvider } from '../support/scripted-provider.ts'
import { waitUntil } from '../support/wait.ts'

const MESSAGES = [{ role: 'user', content: 'Hello' }]
const RATE_LIMITED = { status: 429, body: { error: { message: 'slow down' } } }
const FAILED = { status: 500, body: { error: { message: 'broken' } } }

const ask = (gateway: RunningGateway, body: object = {}, headers?: Record<string, string>): Promise<Answer> =>
  gateway.call(
    'POST',
    '/v1/chat/completions',
    { model: 'gpt-4o', messages: MESSAGES, max_tokens: 100, ...body },
    { authorization: `Bearer ${gateway.demoKey}`, ...headers },
  )

const SPARE_MODEL = {
  ...{ provider: 'spare', context: 100_000, max_output: 1000, latency_ms: 9000 },
  ...{ capabilities: { tools: true, images: true, json: 'none' }, price: { input: 1, output: 1 } },
}

/** Prefers the deployments to every other model. */
const route = (gateway: RunningGateway) =>
  fetch(`${gateway.routeUrl}/route`, {
    method: 'POST',
    headers: { authorization: `Bearer ${gateway.demoKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ prompt: 'Hello', model_preferences: ['openai/gpt-4o'], max_tokens: 100 }),
  })

const placeOf = ({ headers }: Pick<Answer, 'headers'>) => headers.get('x-deployment')

describe('deployments of a provider', () => {
  let both: TwoDeployments
  let gateway: RunningGateway
  before(async () => {
    both = await startDeployments()
  })
  beforeEach(() => resetDeployments(both))
  afterEach(() => gateway?.stop())
  after(() => both.close())

  it('get requests by weight, each with its own key and model name', async () => {
    const settings = { east: { weight: 3, model: 'my-gpt' }, west: { weight: 1 } }
    gateway = await startGateway(await withDeployments(both, settings))
    const answers: Answer[] = []
    for (let request = 0; request < 8; request++) answers.push(await ask(gateway))
    expect(answers.map(placeOf).filter((place) => place === 'east')).to.have.length(6)
    expect([both.east.counts.requests, both.west.counts.requests]).to.deep.equal([6, 2])
    const [east, west] = [both.east.last(), both.west.last()]
    expect([east?.headers.authorization, east?.body.model]).to.deep.equal([
      'Bearer the-key-of-east',
      'my-gpt',
    ])
    expect([west?.headers.authorization, west?.body.model]).to.deep.equal([
      'Bearer the-key-of-west',
      'gpt-4o',
    ])
    const [first] = answers
    expect(first?.headers.get('x-model')).to.equal('gpt-4o')
    expect(first?.body.signalbox.deployment).to.equal(placeOf(first as Answer))
  })

  it('are named in the record of the request, its export and the metrics', async () => {
    gateway = await startGateway(await withDeployments(both))
    both.east.play(RATE_LIMITED)
    both.west.play({ body: completionOf(10, 40) })
    const answer = await ask(gateway)
    expect(placeOf(answer)).to.equal('west')
    const id = answer.headers.get('x-request-id')
    const { body: record } = await gateway.call('GET', `/admin/requests/${id}`, undefined, AS_ADMIN)
    expect(record.data.deployment).to.equal('west')
    const outcomes = record.data.attempts.map(({ deployment, outcome }: Record<string, string>) => [
      deployment,
      outcome,
    ])
    expect(outcomes).to.deep.equal([
      ['east', 'provider_rate_limited'],
      ['west', 'ok'],
    ])
    const next = await ask(gateway)
    const { body } = await gateway.call(
      'GET',
      `/admin/requests/${next.headers.get('x-request-id')}`,
      undefined,
      AS_ADMIN,
    )
    expect(body.data.attempts).to.have.length(1)
    expect(body.data.attempts[0]).to.include({ deployment: 'west', outcome: 'ok' })
    const line = 'signalbox_deployment_attempts_total'
    const labels = { provider: 'openai', deployment: 'west', outcome: 'ok' }
    await scrapeUntil(gateway, (page) => page.sum(line, labels) === 2)
  })

  it('rest after a 429 for as long as it says, while others answer at once', async () => {
    gateway = await startGateway(await withDeployments(both, { row: { balance: 'weighted' } }))
    both.east.play({ ...RATE_LIMITED, headers: { 'retry-after': '30' } })
    for (let request = 0; request < 6; request++) expect(placeOf(await ask(gateway))).to.equal('west')
    expect(both.east.counts.requests).to.equal(1)
    both.west.play({ ...RATE_LIMITED, headers: { 'retry-after': '40' } })
    const refused = await ask(gateway)
    expect(refused.status).to.equal(429)
    const again = await ask(gateway)
    expect([again.status, again.headers.get('x-error-code')]).to.deep.equal([429, 'provider_rate_limited'])
    expect(Number(again.headers.get('retry-after'))).to.be.within(25, 30)
    expect([both.east.counts.requests, both.west.counts.requests]).to.deep.equal([1, 7])
  })

  for (const [what, failure] of Object.entries({
    'a server error': FAILED,
    'a rate limit': RATE_LIMITED,
    'a key that is rejected': { ...FAILED, status: 401 },
    'an unknown model': { status: 404, body: { error: { code: 'model_not_found', message: 'unknown' } } },
  })) {
    it(`are all tried for a fixed model after ${what}`, async () => {
      gateway = await startGateway(await withDeployments(both))
      both.east.play(failure)
      expect(placeOf(await ask(gateway))).to.equal('west')
      both.west.play(failure)
      const { status } = await ask(gateway)
      expect(status).to.be.within(404, 502)
      expect(both.east.counts.requests).to.be.within(1, 2)
    })
  }

  it('are tried again for a caller whose requests have failed at all of them', async () => {
    gateway = await startGateway(await withDeployments(both))
    both.east.play(FAILED)
    both.west.play(FAILED)
    expect((await ask(gateway)).status).to.equal(502)
    resetDeployments(both)
    expect((await ask(gateway)).status).to.equal(200)
  })

  it('are tried twice for a fixed model if there is only one', async () => {
    const deployments = [{ id: 'only', base_url: both.east.url, key: 'EAST_KEY' }]
    gateway = await startGateway(await withDeployments(both, { row: { deployments } }))
    both.east.play({
      body: completionOf(10, 40),
      get status() {
        return both.east.counts.requests === 1 ? 503 : 200
      },
    })
    const { status, headers } = await ask(gateway)
    expect([status, headers.get('x-deployment')]).to.deep.equal([200, 'only'])
    both.east.play(FAILED)
    expect((await ask(gateway)).status).to.equal(502)
    expect(both.east.counts.requests).to.equal(4)
  })

  for (const [what, fail] of Object.entries({
    'a rate limit': { ...RATE_LIMITED, headers: { 'retry-after': '1' } },
    'a refused connection': undefined,
  })) {
    it(`are tried twice for a fixed model if there is only one, after ${what}`, async () => {
      const only = await startScriptedProvider()
      const deployments = [{ id: 'only', base_url: only.url, key: 'EAST_KEY' }]
      gateway = await startGateway(await withDeployments(both, { row: { deployments } }))
      if (fail === undefined) only.close()
      else only.play(fail)
      const { status, headers } = await ask(gateway)
      expect(status).to.equal(fail === undefined ? 502 : 429)
      const { body } = await gateway.call(
        'GET',
        `/admin/requests/${headers.get('x-request-id')}`,
        undefined,
        AS_ADMIN,
      )
      expect(body.data.attempts).to.have.length(2)
      only.close()
    })
  }

  it('are not tried after an error of the request', async () => {
    gateway = await startGateway(await withDeployments(both))
    for (const provider of [both.east, both.west])
      provider.play({ status: 400, body: { error: { message: 'no such tool' } } })
    expect((await ask(gateway)).status).to.equal(400)
    expect(both.east.counts.requests + both.west.counts.requests).to.equal(1)
  })

  it('are tried before the same model of another provider, and that before other models', async () => {
    const more = {
      models: [
        { ...SPARE_MODEL, id: 'gpt-4o', quality: 1 },
        { ...SPARE_MODEL, id: 'another-model', quality: 90 },
      ],
    }
    gateway = await startGateway(await withDeployments(both, { isSpareUsed: true, more }))
    both.east.play(FAILED)
    expect(placeOf(await route(gateway))).to.equal('west')
    both.west.play(FAILED)
    const answer = await route(gateway)
    expect(answer.headers.get('x-provider')).to.equal('spare')
    expect([both.spare.last()?.body.model, both.spare.counts.requests]).to.deep.equal(['gpt-4o', 1])
  })

  it('are chosen by what is in flight', async () => {
    gateway = await startGateway(await withDeployments(both, { row: { balance: 'least_busy' } }))
    let release: () => void = () => undefined
    const until = new Promise<void>((resolve) => {
      release = resolve
    })
    for (const provider of [both.east, both.west]) provider.play({ body: completionOf(10, 40), until })
    const long = ask(gateway, { max_tokens: 8000 })
    const short = [ask(gateway), ask(gateway), ask(gateway)]
    await waitUntil(() => both.east.counts.inFlight + both.west.counts.inFlight === 4)
    const counts = [both.east.counts.requests, both.west.counts.requests].sort()
    expect(counts).to.deep.equal([1, 3])
    release()
    const place = placeOf(await long)
    for (const answer of await Promise.all(short)) expect(placeOf(answer)).not.to.equal(place)
  })

  it('end a place of a stream with the stream', async () => {
    const limit = { max_concurrent: 1 }
    gateway = await startGateway(await withDeployments(both, { east: limit, west: limit }))
    const usage = { ...chunk({}, 'stop'), choices: [], usage: { prompt_tokens: 10, completion_tokens: 40 } }
    for (const provider of [both.east, both.west])
      provider.play({ chunks: [chunk({ content: 'Hi' }), chunk({}, 'stop'), usage] })
    for (let request = 0; request < 5; request++) {
      const stream = await gateway.openai().chat.completions.create({
        model: 'gpt-4o',
        messages: [{ role: 'user', content: 'Hello' }],
        stream: true,
      })
      for await (const _ of stream);
    }
    expect(both.east.counts.requests + both.west.counts.requests).to.equal(5)
  })

  describe('with limits', () => {
    it('get the requests that others cannot take, and refuse with the time of the next', async () => {
      const settings = { east: { requests_per_minute: 2 }, west: { requests_per_minute: 3 } }
      gateway = await startGateway(await withDeployments(both, settings))
      const answers = await Promise.all(Array.from({ length: 12 }, () => ask(gateway)))
      expect(answers.filter(({ status }) => status === 200)).to.have.length(5)
      expect([both.east.counts.requests, both.west.counts.requests]).to.deep.equal([2, 3])
      const refused = answers.find(({ status }) => status !== 200)
      expect([refused?.status, refused?.headers.get('x-error-code')]).to.deep.equal([
        429,
        'provider_rate_limited',
      ])
      expect(Number(refused?.headers.get('retry-after'))).to.be.within(50, 60)
    })

    it('reserve the tokens that a request may use, and refuse one that never fits', async () => {
      const limit = { tokens_per_minute: 300 }
      gateway = await startGateway(await withDeployments(both, { east: limit, west: limit }))
      const large = await ask(gateway, { max_tokens: 1000 })
      expect([large.status, large.headers.get('x-should-retry')]).to.deep.equal([429, 'false'])
      expect(large.body.error.message).to.contain('Set max_tokens')
      const answers: Answer[] = []
      for (let request = 0; request < 20; request++) answers.push(await ask(gateway))
      // Each has used 50 tokens and may use more than 100.
      for (const { counts } of [both.east, both.west]) expect(counts.requests).to.be.within(4, 5)
      expect(answers.at(-1)?.status).to.equal(429)
    })

    it('are passed over for other models when all of them are full', async () => {
      const limit = { requests_per_minute: 1 }
      const more = { models: [{ ...SPARE_MODEL, id: 'gpt-4o', quality: 1 }] }
      const settings = { east: limit, west: limit, isSpareUsed: true, more }
      gateway = await startGateway(await withDeployments(both, settings))
      const places: (string | null)[] = []
      for (let request = 0; request < 3; request++)
        places.push((await route(gateway)).headers.get('x-provider'))
      expect(places).to.deep.equal(['openai', 'openai', 'spare'])
    })

    it('are never sent more, by one process', async () => {
      gateway = await startGateway(await withDeployments(both, STORM_LIMITS))
      await expectExactDeployments(both, [gateway], gateway.demoKey)
    })

    itInFull('are never sent more, by two processes with Redis', async function () {
      const redis = await requireRedis(this)
      const environment = await withDeployments(both, STORM_LIMITS, redis)
      gateway = await startGatewayOnFiles(environment)
      const { dataDir, demoKey } = gateway
      const other = await startGatewayOnFiles(environment, { dataDir, demoKey })
      await expectExactDeployments(both, [gateway, other], demoKey)
      await other.stop()
      await redis.stop()
    })
  })
})
