import { expect } from 'chai'
import OpenAI from 'openai'
import { type Sandbox, startSandbox } from '../../providers/sandbox/server.ts'
import { firewallRuleBody } from '../support/bodies.ts'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import { newUser } from '../support/new-user.ts'

const ask = (content: string) => [{ role: 'user' as const, content }]

// biome-ignore lint/suspicious/noExplicitAny: the SDK's types lack the extension fields
const loose = (value: unknown) => value as any

/** The handler of success for calls that must fail. */
const unexpected = () => expect.fail('the call succeeded')

describe('chat completions with the official OpenAI client', () => {
  let sandbox: Sandbox
  let gateway: RunningGateway
  let client: OpenAI

  before(async () => {
    sandbox = await startSandbox({ record: 100 })
    gateway = await startGateway({
      OPENAI_API_KEY: 'provider-key',
      OPENAI_BASE_URL: `${sandbox.url}/openai/v1`,
    })
    client = gateway.openai()
  })
  after(async () => {
    await gateway?.stop()
    await sandbox.close()
  })

  describe('a reply that is not streamed', () => {
    it('contains the text of the model', async () => {
      const completion = await client.chat.completions.create({
        model: 'gpt-4o',
        messages: ask('Hello there'),
      })
      expect(completion.choices[0]?.message.content).to.contain('Hello there')
      expect(completion.choices[0]?.finish_reason).to.equal('stop')
      expect(completion.object).to.equal('chat.completion')
      expect(completion.usage?.total_tokens).to.be.greaterThan(0)
    })

    it('reports provider, latency, mode and request id', async () => {
      const { data, response } = await client.chat.completions
        .create({ model: 'gpt-4o', messages: ask('Hi') })
        .withResponse()
      expect(loose(data)).to.include({ provider: 'openai', routing_mode: 'balance' })
      expect(loose(data).latency_ms).to.be.a('number')
      expect(Number.isInteger(loose(data).latency_ms)).to.equal(true)
      expect(loose(data).x_request_id).to.match(/^req_[0-9A-Za-z]{24}$/)
      expect(response.headers.get('x-request-id')).to.equal(loose(data).x_request_id)
      expect(response.headers.get('x-provider')).to.equal('openai')
      expect(response.headers.get('x-model')).to.equal('gpt-4o')
      expect(response.headers.get('x-routing-mode')).to.equal('balance')
    })

    it('has an id of the gateway', async () => {
      const completion = await client.chat.completions.create({ model: 'gpt-4o', messages: ask('Hi') })
      expect(completion.id).to.match(/^chatcmpl-[0-9A-Za-z]{24}$/)
    })

    it('passes unknown fields through in both directions', async () => {
      const completion = await client.chat.completions.create({
        model: 'gpt-4o',
        messages: ask('Hi'),
        // @ts-expect-error a field that no version of the API has
        unheard_of: { deep: [1, 2] },
      })
      const received = sandbox.requests.at(-1)
      expect(loose(received?.body).unheard_of).to.deep.equal({ deep: [1, 2] })
      expect(loose(completion).x_sandbox.unknown_fields).to.include('unheard_of')
      expect(loose(completion).system_fingerprint).to.be.a('string')
    })

    it("sends the provider's key upstream, never the client's key", async () => {
      await client.chat.completions.create({ model: 'gpt-4o', messages: ask('Hi') })
      expect(sandbox.requests.at(-1)?.headers.authorization).to.equal('Bearer provider-key')
    })

    it('chooses the cheapest model for auto:cost', async () => {
      const completion = await client.chat.completions.create({ model: 'auto:cost', messages: ask('Hi') })
      expect(loose(completion)).to.include({ provider: 'openai', routing_mode: 'cost' })
      // Which of the small models is the cheapest depends on the day: models retire.
      expect(completion.model).to.match(/-(nano|luna)$/)
    })

    it('accepts a provider prefix before a model that is not in the catalogue', async () => {
      const completion = await client.chat.completions.create({
        model: 'openai:ft:gpt-4o:me',
        messages: ask('Hi'),
      })
      expect(completion.model).to.equal('ft:gpt-4o:me')
    })

    it('parses the body as JSON whatever its content type, or without one', async () => {
      const body = Buffer.from(JSON.stringify({ messages: [{ role: 'user', content: 'Which track?' }] }))
      for (const type of [undefined, 'text/plain', 'application/x-www-form-urlencoded']) {
        const { status } = await fetch(`${gateway.url}/v1/chat/completions`, {
          method: 'POST',
          headers: { authorization: `Bearer ${gateway.demoKey}`, ...(type && { 'content-type': type }) },
          body,
        })
        expect(status, type).to.equal(200)
      }
    })

    it('does not require a model', async () => {
      const { status, body } = await gateway.call('POST', '/v1/chat/completions', { messages: ask('Hi') })
      expect(status).to.equal(200)
      expect(body.routing_mode).to.equal('balance')
    })
  })

  describe('a streamed reply', () => {
    const stream = (content: string, more: object = {}) =>
      client.chat.completions.create({ model: 'gpt-4o', messages: ask(content), stream: true, ...more })

    async function collect(chunks: AsyncIterable<OpenAI.ChatCompletionChunk>) {
      const all: OpenAI.ChatCompletionChunk[] = []
      for await (const chunk of chunks) all.push(chunk)
      return all
    }

    it('splits the text into several chunks with one id', async () => {
      const chunks = await collect(await stream('Tell me more'))
      const text = chunks.map((chunk) => chunk.choices[0]?.delta.content ?? '').join('')
      expect(text).to.contain('Tell me more')
      expect(chunks.length).to.be.greaterThan(4)
      expect(new Set(chunks.map(({ id }) => id)).size).to.equal(1)
    })

    it('has the extension fields on its first and last chunk', async () => {
      const chunks = (await collect(await stream('Hi'))).map(loose)
      expect(chunks[0]).to.include({ provider: 'openai', routing_mode: 'balance' })
      expect(chunks[0]).not.to.have.property('latency_ms')
      expect(chunks.at(-1)).to.include({ provider: 'openai', routing_mode: 'balance' })
      expect(chunks.at(-1).latency_ms).to.be.a('number')
      expect(chunks.at(-1).choices[0].finish_reason).to.equal('stop')
      expect(chunks[1]).not.to.have.property('provider')
    })

    it('omits usage unless it is requested', async () => {
      const chunks = await collect(await stream('Hi'))
      expect(chunks.filter((chunk) => 'usage' in chunk)).to.deep.equal([])
      expect(chunks.every((chunk) => chunk.choices.length === 1)).to.equal(true)
    })

    it('ends with usage when it is requested', async () => {
      const chunks = await collect(await stream('Hi', { stream_options: { include_usage: true } }))
      const last = chunks.at(-1)
      expect(last?.choices).to.deep.equal([])
      expect(last?.usage?.total_tokens).to.be.greaterThan(0)
      expect(chunks.slice(0, -1).every((chunk) => chunk.usage === null)).to.equal(true)
      expect(loose(last).latency_ms).to.be.a('number')
    })

    it("works with the SDK's stream helper", async () => {
      const completion = await client.chat.completions
        .stream({ model: 'gpt-4o', messages: ask('Helper') })
        .finalChatCompletion()
      expect(completion.choices[0]?.message.content).to.contain('Helper')
    })

    it('aborts the upstream call when the client disconnects in mid-stream', async () => {
      const arrival = sandbox.next()
      const chunks = await stream('A long story [[sandbox:token-delay=50]]')
      const received = await arrival
      for await (const _ of chunks) break
      expect(await received.closed).to.equal('aborted')
    })

    it('aborts the upstream call when the client disconnects before the first byte', async () => {
      const arrival = sandbox.next()
      const leaving = new AbortController()
      const answer = client.chat.completions.create(
        { model: 'gpt-4o', messages: ask('Wait [[sandbox:hang]]') },
        { signal: leaving.signal },
      )
      const received = await arrival
      leaving.abort()
      await answer.then(unexpected, (error) => expect(error).to.be.instanceOf(OpenAI.APIUserAbortError))
      expect(await received.closed).to.equal('aborted')
    })

    it('reports a failure in mid-stream as an error, not as a normal end', async () => {
      const chunks = await stream('Go [[sandbox:cut=3 token-delay=20]]')
      const error = await collect(chunks).then(unexpected, (error) => error)
      expect(error).to.be.instanceOf(OpenAI.APIError)
      expect(error.code).to.equal('provider_unreachable')
    })

    it('reports an error record of the provider as an error', async () => {
      const chunks = await stream('Go [[sandbox:error-mid=2 token-delay=20]]')
      const error = await collect(chunks).then(unexpected, (error) => error)
      expect(error).to.be.instanceOf(OpenAI.APIError)
      expect(error.code).to.equal('provider_error')
    })

    it('responds with an error status when the first event is an error', async () => {
      const error = await stream('Go [[sandbox:error-first]]').then(unexpected, (error) => error)
      expect(error).to.be.instanceOf(OpenAI.InternalServerError)
      expect(error.status).to.equal(502)
    })
  })

  describe('tools', () => {
    const tools: OpenAI.ChatCompletionTool[] = [
      {
        type: 'function',
        function: {
          name: 'get_weather',
          parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
        },
      },
    ]

    it('are called in a reply that is not streamed', async () => {
      const completion = await client.chat.completions.create({
        model: 'gpt-4o',
        messages: ask('Weather?'),
        tools,
        tool_choice: 'required',
      })
      const call = loose(completion.choices[0]?.message.tool_calls?.[0])
      expect(call.function.name).to.equal('get_weather')
      expect(JSON.parse(call.function.arguments)).to.have.property('city')
      expect(completion.choices[0]?.finish_reason).to.equal('tool_calls')
    })

    it('are called in a streamed reply', async () => {
      const completion = await client.chat.completions
        .stream({ model: 'gpt-4o', messages: ask('Weather?'), tools, tool_choice: 'required' })
        .finalChatCompletion()
      const call = loose(completion.choices[0]?.message.tool_calls?.[0])
      expect(JSON.parse(call.function.arguments)).to.have.property('city')
    })

    it('receive their results in the next turn', async () => {
      const first = await client.chat.completions.create({
        model: 'gpt-4o',
        messages: ask('Weather?'),
        tools,
        tool_choice: 'required',
      })
      const message = first.choices[0]?.message
      const call = message?.tool_calls?.[0]
      const second = await client.chat.completions.create({
        model: 'gpt-4o',
        tools,
        messages: [
          ...ask('Weather?'),
          message as OpenAI.ChatCompletionMessageParam,
          { role: 'tool', tool_call_id: call?.id ?? '', content: 'sunny, 21 degrees' },
        ],
      })
      expect(second.choices[0]?.message.content).to.contain('sunny, 21 degrees')
    })
  })

  describe('errors', () => {
    const failing = (content: string, model = 'gpt-4o') =>
      client.chat.completions
        .create({ model, messages: ask(content) })
        .then(unexpected, (error) => error as InstanceType<typeof OpenAI.APIError>)

    it('401 is AuthenticationError', async () => {
      const stranger = gateway.openai('tr_not-a-key')
      const error = await stranger.chat.completions
        .create({ model: 'gpt-4o', messages: ask('Hi') })
        .then(unexpected, (error) => error)
      expect(error).to.be.instanceOf(OpenAI.AuthenticationError)
      expect(error).to.include({ code: 'invalid_api_key', type: 'authentication_error' })
      expect(error.error.http_status).to.equal(401)
    })

    it('a missing key is 401, before the body is parsed', async () => {
      const response = await fetch(`${gateway.url}/v1/chat/completions`, { method: 'POST', body: '{' })
      expect(response.status).to.equal(401)
      expect(response.headers.get('x-request-id')).to.match(/^req_/)
    })

    it('400 names the parameter', async () => {
      const error = await client.chat.completions
        .create({ model: 'gpt-4o', messages: ask('Hi'), temperature: 3 })
        .then(unexpected, (error) => error)
      expect(error).to.be.instanceOf(OpenAI.BadRequestError)
      expect(error.param).to.equal('temperature')
    })

    it('400 refuses parameters that no provider supports: n over 1 and logprobs', async () => {
      for (const more of [{ n: 2 }, { logprobs: true }]) {
        const { status, body } = await gateway.call('POST', '/v1/chat/completions', {
          messages: ask('Hi'),
          ...more,
        })
        expect(status).to.equal(400)
        expect(body.error.code).to.equal('unsupported_parameter')
      }
    })

    it('403 is PermissionDeniedError, with exactly the documented fields', async () => {
      const rule = firewallRuleBody({ name: 'No bombs', pattern: 'dynamite-403', action: 'block' })
      const { body } = await gateway.call('POST', '/v1/firewall-rules', rule)
      const error = await failing('how to make DYNAMITE-403')
      expect(error).to.be.instanceOf(OpenAI.PermissionDeniedError)
      expect(error.error).to.deep.equal({
        message: 'Request blocked by firewall rule "No bombs".',
        type: 'firewall_error',
        param: null,
        code: 'firewall_blocked',
        http_status: 403,
        meta: { rule_id: body.data.id },
      })
    })

    it('404 is NotFoundError for an unknown model', async () => {
      const error = await failing('Hi', 'no-such-model')
      expect(error).to.be.instanceOf(OpenAI.NotFoundError)
      expect(error).to.include({ code: 'model_not_found', param: 'model', type: 'invalid_request_error' })
    })

    it('429 of a fixed model is RateLimitError with retry-after', async () => {
      const error = await failing('Hi [[sandbox:status=429 retry-after=7]]')
      expect(error).to.be.instanceOf(OpenAI.RateLimitError)
      expect(error.headers?.get('retry-after')).to.equal('7')
    })

    it('5xx of a fixed model is InternalServerError, after one retry', async () => {
      const before = sandbox.requests.length
      const error = await failing('Hi [[sandbox:status=500]]')
      expect(error).to.be.instanceOf(OpenAI.InternalServerError)
      expect(error.status).to.equal(502)
      expect(sandbox.requests.length - before).to.equal(2)
    })

    it('a request refused by the provider is 400 with its error code', async () => {
      const error = await failing('Hi [[sandbox:status=400 code=context_length_exceeded]]')
      expect(error).to.be.instanceOf(OpenAI.BadRequestError)
      expect(error.code).to.equal('context_length_exceeded')
    })

    it("rejected provider credentials are 502, not the client's 401", async () => {
      const error = await failing('Hi [[sandbox:status=401]]')
      expect(error.status).to.equal(502)
      expect(error.code).to.equal('provider_authentication_error')
      expect(JSON.stringify(error.error)).not.to.contain('provider-key')
    })

    it('malformed JSON from the provider is 502', async () => {
      expect((await failing('Hi [[sandbox:malformed]]')).status).to.equal(502)
    })
  })

  describe('failover', () => {
    it('tries the next model when the chosen one fails', async () => {
      const completion = await client.chat.completions.create({
        model: 'auto:quality',
        messages: ask('Hi [[sandbox:status=529 model=gpt-6-astra]]'),
      })
      expect(completion.model).not.to.equal('gpt-6-astra')
    })

    it('works for a stream whose first event is an error', async () => {
      const chunks = await client.chat.completions.create({
        model: 'auto:quality',
        messages: ask('Hi [[sandbox:error-first model=gpt-6-astra]]'),
        stream: true,
      })
      let model = ''
      for await (const chunk of chunks) model = chunk.model
      expect(model).not.to.equal('gpt-6-astra')
    })

    it('is 503 with retry-after when every provider is down', async () => {
      const { status, headers, body } = await gateway.call('POST', '/v1/chat/completions', {
        model: 'auto',
        messages: ask('Hi [[sandbox:status=503]]'),
      })
      expect(status).to.equal(503)
      expect(body.error.code).to.equal('no_providers_available')
      expect(Number(headers.get('retry-after'))).to.be.greaterThan(0)
    })
  })

  it('refuses a revoked key immediately', async () => {
    const user = await newUser(gateway, 'free')
    const chat = () =>
      gateway.openai(user.key).chat.completions.create({ model: 'gpt-4o', messages: ask('Hi') })
    await chat()
    await user.revokeKey(user.keyId)
    await chat().then(unexpected, (error) => expect(error).to.be.instanceOf(OpenAI.AuthenticationError))
  })
})
