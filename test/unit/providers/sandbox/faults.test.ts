import { expect } from 'chai'
import { APIError } from 'openai'
import { type Sandbox, startSandbox } from '../../../../providers/sandbox/server.ts'
import {
  buildBody,
  collect,
  collectUntilError,
  createOpenAiClient,
  errorOf,
  type OpenAiClient,
  textOf,
} from './openai-client.ts'

describe('sandbox: fault injection', () => {
  let sandbox: Sandbox
  let client: OpenAiClient

  before(async () => {
    sandbox = await startSandbox({ record: 100 })
    client = createOpenAiClient(sandbox)
  })

  after(() => sandbox.close())

  it('removes the marker from the reply', async () => {
    const { choices } = await client.ask('Hi [[sandbox:first-byte=1]]')
    expect(choices[0]!.message.content).to.contain('You said: "Hi".')
  })

  it('rejects an unknown fault and lists the known ones', async () => {
    const error = await errorOf(client.ask('[[sandbox:explode]]'))
    expect(error.status).to.equal(400)
    expect(error.message).to.contain('Unknown fault "explode". Use one of: status,')
  })

  it('rejects an invalid value and states the valid range', async () => {
    const error = await errorOf(client.ask('[[sandbox:status=200]]'))
    expect(error.message).to.contain('The fault "status" must be an integer from 400 to 599.')
  })

  for (const [status, type, code] of [
    [400, 'invalid_request_error', null],
    [401, 'authentication_error', 'invalid_api_key'],
    [404, 'invalid_request_error', 'model_not_found'],
    [429, 'rate_limit_error', 'rate_limit_exceeded'],
    [500, 'server_error', null],
    [503, 'service_unavailable_error', 'server_is_overloaded'],
    [529, 'server_error', null],
  ] as const) {
    it(`responds with status ${status} to whole and streamed requests`, async () => {
      const text = `[[sandbox:status=${status}]]`
      expect(await errorOf(client.ask(text))).to.include({ status, type, code })
      expect(await errorOf(client.stream(text))).to.include({ status, type, code })
    })
  }

  it('sends the given retry-after header and error code', async () => {
    const error = await errorOf(client.ask('[[sandbox:status=429 retry-after=2 code=insufficient_quota]]'))
    expect(error.code).to.equal('insufficient_quota')
    expect(error.headers!.get('retry-after')).to.equal('2')
  })

  it('sends an error with status 200 that quotes the key', async () => {
    const quote = 'Simulated failure with status 400. Incorrect API key provided: test.'
    const body: unknown = await client.ask('[[sandbox:status=400 error-body quote-key]]')
    expect(body).to.have.nested.property('error.message', quote)
    const error = await errorOf(client.ask('[[sandbox:status=400 quote-key]]'))
    expect(error.message).to.contain(quote)
  })

  it('delays the first byte', async () => {
    const start = performance.now()
    await client.ask('[[sandbox:first-byte=60]]')
    expect(performance.now() - start).to.be.greaterThan(55)
  })

  it('delays every stream event', async () => {
    const start = performance.now()
    const chunks = await collect(await client.stream('[[sandbox:token-delay=5]]'))
    expect(performance.now() - start).to.be.greaterThan((chunks.length - 1) * 4)
  })

  it('sends comments, which clients ignore', async () => {
    const text = 'Hi [[sandbox:comments]]'
    expect(await client.fetchText(text, { stream: true })).to.match(/^: keep-alive\n\ndata: /)
    expect(textOf(await collect(await client.stream(text)))).to.contain('"Hi"')
  })

  it('ends lines with \\r\\n', async () => {
    const text = await client.fetchText('[[sandbox:crlf]]', { stream: true })
    expect(text).to.match(/\r\n\r\ndata: \[DONE\]\r\n\r\n$/)
    expect(text.replaceAll('\r\n', '')).not.to.contain('\n')
  })

  it('drops the connection after some events of a stream', async () => {
    const { chunks, error } = await collectUntilError(await client.stream('[[sandbox:cut=3]]'))
    expect(chunks).to.have.length(3)
    expect(error).to.be.instanceOf(TypeError)
  })

  it('drops the connection before the first event of a stream', async () => {
    const { chunks, error } = await collectUntilError(await client.stream('[[sandbox:cut=0]]'))
    expect(chunks).to.have.length(0)
    expect(error).to.be.instanceOf(TypeError)
  })

  it('drops the connection in the middle of a whole response', async () => {
    const response = await client.post(buildBody('[[sandbox:cut]]'))
    expect(response.status).to.equal(200)
    expect(await response.text().catch((error: unknown) => error)).to.be.instanceOf(TypeError)
  })

  it('records a connection that it drops itself as finished', async () => {
    const arrival = sandbox.next()
    await collectUntilError(await client.stream('[[sandbox:cut]]'))
    expect(await (await arrival).closed).to.equal('finished')
  })

  it('ends a stream early but cleanly', async () => {
    const chunks = await collect(await client.stream('[[sandbox:eof=4]]'))
    expect(chunks).to.have.length(4)
    expect(chunks.at(-1)!.choices[0]!.finish_reason).to.equal(null)
  })

  it('omits the closing events even if the stream has fewer events than the limit', async () => {
    const chunks = await collect(await client.stream('Hi [[sandbox:eof=999]]'))
    expect(textOf(chunks)).to.contain('"Hi"')
    expect(chunks.at(-1)!.choices[0]!.finish_reason).to.equal(null)
  })

  it('sends a body that is not JSON', async () => {
    const response = await client.post(buildBody('[[sandbox:malformed]]'))
    const text = await response.text()
    expect(response.headers.get('content-type')).to.equal('application/json')
    expect(() => JSON.parse(text)).to.throw(SyntaxError)
  })

  it('sends an event that is not JSON in the middle of a stream', async () => {
    const records = (await client.fetchText('[[sandbox:malformed]]', { stream: true }))
      .split('\n\n')
      .slice(0, -1)
    const broken = records.map((record) => record.slice('data: '.length)).filter((data) => !isJson(data))
    expect(broken).to.have.length(2)
    expect(broken[1]).to.equal('[DONE]')
  })

  it('sends an error as the first event of a stream', async () => {
    const opened = await client.stream('[[sandbox:error-first status=529 code=busy]]')
    const { chunks, error } = await collectUntilError(opened)
    expect(chunks).to.have.length(0)
    expect(error).to.be.instanceOf(APIError)
    expect(error).to.include({ type: 'server_error', code: 'busy' })
  })

  it('sends an error in the middle of a stream and ends it', async () => {
    const { chunks, error } = await collectUntilError(await client.stream('[[sandbox:error-mid=2]]'))
    expect(chunks).to.have.length(2)
    expect(error).to.be.instanceOf(APIError)
    expect(await client.fetchText('[[sandbox:error-mid=2]]', { stream: true })).not.to.contain('[DONE]')
  })

  it('replies with a refusal', async () => {
    const [{ choices }, chunks] = [
      await client.ask('[[sandbox:refuse]]'),
      await collect(await client.stream('[[sandbox:refuse]]')),
    ]
    expect(choices[0]!.message).to.include({ content: null, refusal: 'The sandbox was asked to refuse.' })
    expect(choices[0]!.finish_reason).to.equal('content_filter')
    const pieces = chunks.map((chunk) => chunk.choices[0]!.delta.refusal ?? '')
    expect(pieces.join('')).to.equal('The sandbox was asked to refuse.')
    expect(chunks.at(-1)!.choices[0]!.finish_reason).to.equal('content_filter')
  })

  it('applies the default fault to requests without a marker', async () => {
    const other = await startSandbox()
    const statusOf = (text: string) =>
      createOpenAiClient(other)
        .ask(text)
        .then(
          () => 200,
          (error) => error.status,
        )
    other.setFault('status=503')
    expect(await statusOf('Hello')).to.equal(503)
    expect(await statusOf('[[sandbox:status=429]]')).to.equal(429)
    other.setFault('')
    expect(await statusOf('Hello')).to.equal(200)
    expect(() => other.setFault('explode')).to.throw('explode')
    await other.close()
  })

  it('applies a fault with a count that many times', async () => {
    const text = '[[sandbox:status=500 times=2]]'
    expect(await errorOf(client.ask(text))).to.include({ status: 500 })
    expect(await errorOf(client.ask(text))).to.include({ status: 500 })
    expect((await client.ask(text)).choices[0]!.finish_reason).to.equal('stop')
  })

  it('applies a fault with a model to that model only', async () => {
    const text = '[[sandbox:status=500 times=1 model=gpt-bad]]'
    await client.ask(text)
    expect(await errorOf(client.ask(text, { model: 'gpt-bad' }))).to.include({ status: 500 })
  })

  it('applies the next marker when one is used up', async () => {
    const text = '[[sandbox:status=503 times=1]] [[sandbox:status=429 times=1]]'
    expect(await errorOf(client.ask(text))).to.include({ status: 503 })
    expect(await errorOf(client.ask(text))).to.include({ status: 429 })
    expect((await client.ask(text)).choices[0]!.finish_reason).to.equal('stop')
  })
})

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
