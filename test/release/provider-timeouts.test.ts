import { expect } from 'chai'
import {
  combinations,
  encodeReply,
  type ProviderAnswer,
  type ProviderCall,
  startTranslationBench,
  type TranslationBench,
} from '../support/translation.ts'

const NEVER = new Promise<never>(() => undefined)

/** The head and the beginning of an answer. */
const BROKEN = { headers: { 'content-type': 'text/event-stream' }, body: ': wait\n\n', isCut: true }

/** A proxy in front of the provider has waited long enough. */
const PROXY_TIMEOUT = {
  status: 504,
  headers: { 'content-type': 'text/html' },
  body: '<h1>Gateway Time-out</h1>',
}

/** The ways in which a request stays without an answer, and the error for the client. */
const UNANSWERED: Readonly<Record<string, { answer: ProviderAnswer; status: number; code: string }>> = {
  'a timeout': { answer: { until: NEVER }, status: 504, code: 'provider_timeout' },
  'a broken connection': { answer: BROKEN, status: 502, code: 'provider_unreachable' },
  'a timeout of a proxy': { answer: PROXY_TIMEOUT, status: 504, code: 'provider_timeout' },
}

const ENOUGH = 'breaker: { min_requests: 1000 }\n'

const RETRIED = { 'x-retry-on-timeout': 'true' }

describe('a request that was sent and not answered', () => {
  /** Waits long enough for every answer, also on a busy machine. */
  let patient: TranslationBench
  /** Is for requests that are never answered. */
  let hasty: TranslationBench
  /** Is for requests of which only the second is answered. */
  let lenient: TranslationBench
  let bench: TranslationBench
  before(async () => {
    patient = await startTranslationBench({}, ENOUGH)
    hasty = await startTranslationBench({}, ENOUGH, { first_byte_ms: 100 })
    lenient = await startTranslationBench({}, ENOUGH, { first_byte_ms: 800 })
  })
  after(() => Promise.all([patient, hasty, lenient].map((each) => each?.close())))
  beforeEach(() => use(patient))

  function use(chosen: TranslationBench): void {
    bench = chosen
    bench.calls.length = 0
  }

  async function recordOf(id: string | null | undefined) {
    return (await bench.gateway.call('GET', `/v1/requests/${id}`)).body.data
  }

  /** Answers the first call in one way, later ones with a reply. */
  function failOnce(answer: ProviderAnswer): void {
    bench.respond((call: ProviderCall) => (bench.calls.length === 1 ? answer : encodeReply(call, {})))
  }

  for (const [name, { answer, status, code }] of Object.entries(UNANSWERED)) {
    for (const combination of combinations()) {
      it(`is not sent again after ${name}, and is recorded with its cost: ${combination.title}`, async () => {
        if (answer.until === NEVER) use(hasty)
        failOnce(answer)
        const asked = await bench.ask(combination, { text: 'What does it cost? '.repeat(20) })
        expect(asked.status, asked.raw).to.equal(status)
        expect(asked.error.code).to.equal(code)
        expect(asked.headers.get('x-should-retry')).to.equal('false')
        expect(bench.calls).to.have.length(1)

        const record = await recordOf(asked.headers.get('x-request-id'))
        expect(record.attempts.map(({ outcome }: { outcome: string }) => outcome)).to.deep.equal([code])
        expect(record.provider).to.equal(record.attempts[0].provider)
        expect(record.tokens.input).to.be.above(50)
        expect(record.tokens.output).to.equal(0)
        expect(record.cost_usd).to.be.above(0)
        expect(record.warnings.map((warning: { code: string }) => warning.code)).to.include('estimated_cost')
      })
    }

    for (const combination of combinations(undefined, ['openai'])) {
      it(`is sent again after ${name} if the caller asks, and both count: ${combination.title}`, async () => {
        if (answer.until === NEVER) use(lenient)
        failOnce(answer)
        const asked = await bench.ask(combination, { headers: RETRIED })
        expect(asked.status, asked.raw).to.equal(200)
        expect(asked.text).to.equal('Hello.')
        expect(bench.calls).to.have.length(2)
        expect(asked.warnings.join()).to.match(/was not answered and may be billed/)

        const record = await recordOf(asked.headers.get('x-request-id'))
        const outcomes = record.attempts.map(({ outcome }: { outcome: string }) => outcome)
        expect(outcomes).to.deep.equal([code, 'ok'])
        bench.respond((call) => encodeReply(call, {}))
        const once = await bench.ask(combination)
        const cheaper = await recordOf(once.headers.get('x-request-id'))
        expect(record.tokens).to.deep.equal(cheaper.tokens)
        if (combination.dialect !== 'route') expect(record.cost_usd).to.be.above(cheaper.cost_usd)
      })
    }
  }

  it('is recorded with the sum if it is sent twice in vain', async () => {
    bench.respond(() => BROKEN)
    const [combination] = combinations(['chat'], ['openai'])
    const once = await bench.ask(combination!)
    const twice = await bench.ask(combination!, { headers: RETRIED })
    expect(bench.calls).to.have.length(3)
    const [one, both] = await Promise.all(
      [once, twice].map(({ headers }) => recordOf(headers.get('x-request-id'))),
    )
    expect(both.cost_usd).to.be.closeTo(2 * one.cost_usd, 1e-9)
    expect(both.tokens).to.deep.equal(one.tokens)
  })

  it('is not sent again after a timeout of Cloudflare, whatever it says', async () => {
    failOnce({ status: 524, body: { error: { message: 'A timeout occurred' } } })
    const asked = await bench.ask({ dialect: 'chat', format: 'compatible', stream: false })
    expect([asked.status, asked.error.code]).to.deep.equal([504, 'provider_timeout'])
    expect(bench.calls).to.have.length(1)
    expect((await recordOf(asked.headers.get('x-request-id'))).cost_usd).to.be.above(0)
  })

  it('refuses another value of the header', async () => {
    const [combination] = combinations(['chat'], ['openai'])
    const asked = await bench.ask(combination!, { headers: { 'x-retry-on-timeout': 'yes' } })
    expect(asked.status).to.equal(400)
    expect(asked.error.param).to.equal('x-retry-on-timeout')
    expect(bench.calls).to.deep.equal([])
  })

  // 499: a proxy in front of the provider says that its client left.
  for (const status of [500, 504, 499])
    it(`fails over from an answer, whatever the caller wants: ${status}`, async () => {
      const [combination] = combinations(['route'], ['openai'])
      failOnce({ status, body: { error: { message: 'Busy' } } })
      const asked = await bench.ask(combination!, { headers: { 'x-retry-on-timeout': 'false' } })
      expect(asked.status).to.equal(200)
      expect(bench.calls).to.have.length(2)
      expect(asked.warnings).to.deep.equal([])
    })
})

describe('a request for embeddings', () => {
  let bench: TranslationBench
  before(async () => {
    bench = await startTranslationBench({}, ENOUGH, { first_byte_ms: 150 })
  })
  after(() => bench?.close())

  const input = Array.from({ length: 250 }, (_, index) => `The text ${index}`)
  const reply = ({ body }: ProviderCall, missing = 0): ProviderAnswer => ({
    body: { embeddings: body.requests.slice(missing).map(() => ({ values: [0.6, 0.8] })) },
  })
  const failed = (status: number) => ({ status, body: { error: { message: 'No' } } })

  for (const [name, failure, calls] of [
    ['fails', failed(500), 6],
    ['is refused', failed(400), 3],
    ['is not answered', { until: NEVER }, 3],
  ] as const)
    it(`is recorded with its cost if its third part ${name}`, async () => {
      bench.respond((call) => (bench.calls.length % 3 === 0 ? failure : reply(call)))
      await check(calls)
    })

  it('is recorded with its cost if a vector is missing', async () => {
    bench.respond((call) => reply(call, 1))
    await check(2)
  })

  async function check(calls: number) {
    bench.calls.length = 0
    const body = { model: 'gemini-embedding-001', input }
    const { status } = await bench.gateway.call('POST', '/v1/embeddings', body)
    expect(status).to.be.at.least(400)
    expect(bench.calls).to.have.length(calls)
    const [record] = (await bench.gateway.call('GET', '/v1/requests?limit=1')).body.data
    expect(record.cost_usd).to.be.above(0)
    expect(record.warnings[0]?.code).to.equal('estimated_cost')
  }
})

describe('a request whose client or provider closes the connection', () => {
  let bench: TranslationBench
  before(async () => {
    bench = await startTranslationBench({}, ENOUGH)
  })
  after(() => bench?.close())

  for (const combination of combinations(undefined, ['openai', 'anthropic'])) {
    it(`is sent again if it crossed with the close of an idle connection: ${combination.title}`, async () => {
      bench.respond((call) => encodeReply(call, {}))
      await bench.ask(combination)
      bench.calls.length = 0
      bench.respond((call) => (bench.calls.length === 1 ? { isClosed: true } : encodeReply(call, {})))
      const asked = await bench.ask(combination)
      expect(asked.status, asked.raw).to.equal(200)
      expect(bench.calls).to.have.length(2)
      expect(asked.warnings).to.deep.equal([])
    })
  }

  for (const combination of combinations()) {
    it(`is recorded if its client disconnects while it waits: ${combination.title}`, async () => {
      const leaving = new AbortController()
      bench.respond(() => {
        leaving.abort()
        return { until: NEVER }
      })
      await bench.ask(combination, { signal: leaving.signal }).then(
        () => expect.fail('There was an answer.'),
        () => undefined,
      )
      let found: { cost_usd: number; warnings: { code: string }[]; error: object }[] = []
      while (found.length === 0)
        found = (await bench.gateway.call('GET', '/v1/requests?limit=1')).body.data.filter(
          ({ status }: { status: number }) => status === 499,
        )
      expect(found[0]?.cost_usd).to.be.above(0)
      // Each test looks at the newest record only.
      bench.respond((call) => encodeReply(call, {}))
      await bench.ask(combination)
    })
  }
})
