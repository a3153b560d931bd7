import Anthropic from '@anthropic-ai/sdk'
import { betaTool } from '@anthropic-ai/sdk/helpers/beta/json-schema'
import { expect } from 'chai'
import type { Sandbox } from '../../providers/sandbox/server.ts'
import { firewallRuleBody } from '../support/bodies.ts'
import { AS_ADMIN, type RunningGateway } from '../support/gateway.ts'
import { newUser } from '../support/new-user.ts'
import { MODELS, PROVIDERS } from '../support/providers.ts'
import { useSandboxGateway } from '../support/sandbox-gateway.ts'

const ask = (content: string, more: object = {}) => ({
  ...{ model: 'gpt-4o', max_tokens: 1000, messages: [{ role: 'user' as const, content }] },
  ...more,
})

describe("Anthropic's official client", function () {
  this.timeout(180_000)
  let sandbox: Sandbox
  let gateway: RunningGateway

  useSandboxGateway(50, (...started) => {
    ;[sandbox, gateway] = started
  })

  const connect = (options: ConstructorParameters<typeof Anthropic>[0] = {}) =>
    new Anthropic({ baseURL: gateway.url, apiKey: gateway.demoKey, maxRetries: 0, ...options })

  async function failure(request: Promise<unknown>) {
    const error = await request.then(
      () => expect.fail('did not fail'),
      (thrown: unknown) => thrown,
    )
    expect(error).to.be.instanceOf(Anthropic.APIError)
    // biome-ignore lint/suspicious/noExplicitAny: fields of the error body
    return error as InstanceType<typeof Anthropic.APIError> & { error: any }
  }

  for (const provider of PROVIDERS) {
    it(`runs tools until the model answers: ${provider}`, async () => {
      const inputs: unknown[] = []
      const tool = betaTool({
        name: 'get_weather',
        description: 'The weather in a city',
        inputSchema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
        run: (input) => {
          inputs.push(input)
          return 'Rain in Basel.'
        },
      })
      const question = ask('Use get_weather.', { model: MODELS[provider] })
      const message = await connect().beta.messages.toolRunner({ ...question, tools: [tool] })
      expect(inputs).to.have.length(1)
      expect(inputs[0]).to.have.property('city')
      expect(JSON.stringify(message.content)).to.contain('Rain in Basel.')
      expect(message.stop_reason).to.equal('end_turn')
    })
  }

  it('authenticates with a key or a token', async () => {
    const authToken = gateway.demoKey
    const { id } = await connect({ apiKey: null, authToken }).messages.create(ask('Hi'))
    expect(id).to.match(/^msg_/)
    const { status, headers } = await gateway.call('GET', '/v1/models', undefined, {
      authorization: '',
      'x-api-key': gateway.demoKey,
    })
    expect(status).to.equal(200)
    expect(headers.get('request-id')).to.equal(null)
    const asOperator = { authorization: '', 'x-api-key': AS_ADMIN.authorization.slice('Bearer '.length) }
    expect((await gateway.call('GET', '/admin/users', undefined, asOperator)).status).to.equal(200)
  })

  it('computes the keys of repeated requests from the key of the operator, wherever it stands', async () => {
    const key = AS_ADMIN.authorization.slice('Bearer '.length)
    const { id } = await newUser(gateway)
    const create = async (headers: Record<string, string>) =>
      (
        await gateway.call('POST', `/admin/users/${id}/keys`, undefined, {
          authorization: '',
          'idempotency-key': 'one',
          ...headers,
        })
      ).body.data.key
    expect(await create({ 'x-api-key': key })).to.equal(await create(AS_ADMIN))
  })

  it('raises its classes, with the type, the message and the id of the request', async () => {
    const unknown = await failure(connect({ apiKey: 'tr_unknown' }).messages.create(ask('Hi')))
    expect(unknown).to.be.instanceOf(Anthropic.AuthenticationError)
    expect(unknown).to.include({ status: 401, type: 'authentication_error' })
    expect(unknown.requestID).to.match(/^req_/)
    expect(unknown.error).to.include({ type: 'error', request_id: unknown.requestID })

    const invalid = await failure(connect().messages.create(ask('Hi', { temperature: 7 })))
    expect(invalid).to.be.instanceOf(Anthropic.BadRequestError)
    expect(invalid.error.error).to.include({ type: 'invalid_request_error', param: 'temperature' })
    const { max_tokens: _, ...endless } = ask('Hi')
    const missing = await failure(connect().messages.create(endless as ReturnType<typeof ask>))
    expect(missing.error.error).to.include({ code: 'missing_parameter', param: 'max_tokens' })

    const named = { tools: [{ name: 'look' }] as unknown as Anthropic.Tool[] }
    const shapeless = await failure(connect().messages.create(ask('Hi', named)))
    expect(shapeless.error.error).to.include({ param: 'tools[0].input_schema' })

    const lost = await failure(connect().messages.create(ask('Hi', { model: 'no-such-model' })))
    expect(lost).to.be.instanceOf(Anthropic.NotFoundError)
    expect(lost.error.error).to.include({ type: 'not_found_error', code: 'model_not_found' })

    const large = await failure(connect().messages.create(ask('x'.repeat(40_000_000))))
    expect(large).to.include({ status: 413, type: 'request_too_large' })

    const path = await gateway.call('GET', '/v1/messages')
    expect([path.status, path.body.type]).to.deep.equal([405, 'error'])
    expect(path.headers.get('request-id')).to.equal(path.headers.get('x-request-id'))
    expect((await gateway.call('POST', '/v1/messages/batches', {})).body.error.type).to.equal(
      'not_found_error',
    )
  })

  it("gets every refusal in Anthropic's form, with the id of the request", async () => {
    const { call } = await newUser(gateway, 'free')
    const body = ask('Hi')
    const cases: [
      type: string,
      status: number,
      path: string,
      body: unknown,
      headers?: Record<string, string>,
    ][] = [
      ['authentication_error', 401, '/v1/messages', body, { authorization: '' }],
      ['invalid_request_error', 400, '/v1/messages', '{'],
      ['invalid_request_error', 400, '/v1/messages', []],
      ['invalid_request_error', 400, '/v1/messages', undefined],
      ['invalid_request_error', 415, '/v1/messages', body, { 'content-encoding': 'zstd' }],
      ['not_found_error', 404, '/v1/messages/batches', body],
      ['authentication_error', 401, '/v1/messages/count_tokens', body, { authorization: '' }],
      ['invalid_request_error', 400, '/v1/messages/count_tokens', { model: 'gpt-4o' }],
      ['not_found_error', 404, '/v1/messages/count_tokens', ask('Hi', { model: 'no-such-model' })],
    ]
    for (const [type, status, path, sent, headers] of cases) {
      const answer = await call('POST', path, sent, headers)
      expect(answer.status, path).to.equal(status)
      expect(answer.body.type).to.equal('error')
      expect(answer.body.error.type, `${path} ${status}`).to.equal(type)
      expect(answer.body.error.message).to.be.a('string').and.not.equal('')
      expect(answer.body.request_id).to.equal(answer.headers.get('request-id'))
    }
    for (const method of ['GET', 'PUT', 'DELETE']) {
      for (const path of ['/v1/messages', '/v1/messages/count_tokens']) {
        const answer = await call(method, path)
        expect([answer.status, answer.body.error.type]).to.deep.equal([405, 'invalid_request_error'])
        expect(answer.headers.get('allow')).to.equal('POST')
      }
    }
    // A stream that is refused is an error before it is a stream.
    const refused = await failure(connect({ apiKey: 'tr_unknown' }).messages.stream(body).finalMessage())
    expect(refused).to.be.instanceOf(Anthropic.AuthenticationError)
  })

  it('gets the rule that blocked a request, and refusals by budgets', async () => {
    const { id, key, call } = await newUser(gateway)
    const { body } = await call('POST', '/v1/firewall-rules', firewallRuleBody({ action: 'block' }))
    const blocked = await failure(connect({ apiKey: key }).messages.create(ask('secret')))
    expect(blocked).to.be.instanceOf(Anthropic.PermissionDeniedError)
    expect(blocked.error.error.message).to.match(/^Request blocked by firewall rule "/)
    expect(blocked.error.error.meta).to.deep.equal({ rule_id: body.data.id })
    const budget = { limit_usd: 0.000001, period: 'total', on_exceed: 'refuse' }
    const set = await gateway.call('PUT', `/admin/users/${id}/budget`, budget, AS_ADMIN)
    expect(set.status, JSON.stringify(set.body)).to.be.oneOf([200, 201])
    const refused = await failure(connect({ apiKey: key }).messages.create(ask('Hi')))
    expect(refused).to.include({ status: 402, type: 'billing_error' })
  })

  it('hears about providers that fail, and does not retry what the gateway has retried', async () => {
    const before = sandbox.requests.length
    const failing = ask('Hi [[sandbox:status=500]]', { model: 'claude-sonnet-4-6' })
    const failed = await failure(connect({ maxRetries: 2 }).messages.create(failing))
    expect(failed).to.be.instanceOf(Anthropic.InternalServerError)
    expect(failed).to.include({ status: 502, type: 'api_error' })
    expect(failed.headers?.get('x-should-retry')).to.equal('false')
    expect(sandbox.requests.length - before).to.equal(2)
    const limited = await failure(connect().messages.create(ask('Hi [[sandbox:status=429 retry-after=7]]')))
    expect(limited).to.be.instanceOf(Anthropic.RateLimitError)
    expect(limited.headers?.get('retry-after')).to.equal('7')
    const overloaded = await failure(
      connect().messages.create(ask('Hi [[sandbox:status=503]]', { model: 'auto' })),
    )
    expect(overloaded).to.include({ status: 529, type: 'overloaded_error' })
    const record = await gateway.call('GET', `/v1/requests/${overloaded.requestID}`)
    expect(record.body.data).to.include({ status: 529, endpoint: '/v1/messages' })
  })

  it('raises errors of streams that have begun', async () => {
    const texts: string[] = []
    const stream = connect().messages.stream(ask('Hi [[sandbox:error-mid=5 token-delay=5]]'))
    stream.on('text', (text) => texts.push(text))
    const error = await failure(stream.finalMessage())
    expect(texts.join('')).not.to.equal('')
    expect(error.error.error).to.include({ type: 'api_error', code: 'provider_error' })
  })

  it('can abort a stream, which ends the call of the provider', async () => {
    const stream = connect().messages.stream(ask('Hi [[sandbox:token-delay=20]]'))
    stream.once('text', () => stream.abort())
    const error = await failure(stream.finalMessage())
    expect(error).to.be.instanceOf(Anthropic.APIUserAbortError)
  })

  it('is told what another provider cannot do', async () => {
    const message = await connect().messages.create(
      ask('Hi', {
        top_k: 5,
        thinking: { type: 'adaptive' },
        tools: [{ type: 'web_search_20250305', name: 'web_search' }],
      }),
    )
    // biome-ignore lint/suspicious/noExplicitAny: an extension field
    const { warnings } = (message as any).signalbox
    const omitted = (name: string) => `${name} was omitted because gpt-4o does not support it.`
    expect(warnings.map((warning: { message: string }) => warning.message)).to.have.members(
      ['tool web_search', 'top_k', 'thinking'].map(omitted),
    )
  })

  it('gets texts without citations, as the AI SDK rejects null there', async () => {
    for (const model of ['gpt-4o', 'claude-sonnet-4-6']) {
      const { content } = await connect().messages.create(ask('Hi', { model }))
      expect(content[0]).to.have.all.keys('type', 'text')
      const streamed = await connect().messages.stream(ask('Hi', { model })).finalMessage()
      expect(streamed.content[0]).not.to.have.property('citations', null)
    }
  })

  it('takes the format of the reply by its name in the beta, too', async () => {
    const schema = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] }
    const fields = { output_format: { type: 'json_schema', schema } }
    const headers = { 'anthropic-beta': 'structured-outputs-2025-11-13' }
    for (const model of ['gpt-4o', 'claude-sonnet-4-6']) {
      const { content } = await connect().messages.create(ask('Hi', { model, ...fields }), { headers })
      expect(JSON.parse(Object(content[0]).text)).to.deep.equal({ n: 1 })
    }
  })

  it('lists the models', async () => {
    const ids: string[] = []
    for await (const { id, type } of connect().models.list()) if (type === 'model') ids.push(id)
    expect(ids).to.include.members(['auto:cost', 'claude-haiku-4-5', 'gpt-4o'])
    expect(await connect().models.retrieve('gpt-4o')).to.include({ type: 'model', display_name: 'gpt-4o' })
  })

  it('reaches models of Anthropic that the catalogue does not know', async () => {
    const { model } = await connect().messages.create(ask('Hi', { model: 'claude-next-20270101' }))
    expect(model).to.equal('claude-next-20270101')
    expect(sandbox.requests.at(-1)?.body).to.include({ model: 'claude-next-20270101' })
  })

  it('cannot pass the limits of its key', async () => {
    const { id } = await newUser(gateway)
    const keyFor = async (limits: object) => {
      const { status, body } = await gateway.call('POST', `/admin/users/${id}/keys`, limits, AS_ADMIN)
      expect(status, JSON.stringify(body)).to.equal(201)
      return connect({ apiKey: body.data.key })
    }
    const narrow = await keyFor({ models: ['gpt-4o'] })
    expect((await narrow.messages.create(ask('Hi'))).type).to.equal('message')
    const before = sandbox.requests.length
    const other = await failure(narrow.messages.create(ask('Hi', { model: 'claude-next-20270101' })))
    expect(other).to.be.instanceOf(Anthropic.PermissionDeniedError)
    expect(other.error.error).to.include({ type: 'permission_error', code: 'model_not_allowed' })
    const chatOnly = await keyFor({ endpoints: ['/v1/chat/completions'] })
    expect(await failure(chatOnly.messages.create(ask('Hi')))).to.include({ status: 403 })
    const { model, messages } = ask('Hi')
    expect(await failure(chatOnly.messages.countTokens({ model, messages }))).to.include({ status: 403 })
    expect(sandbox.requests.length).to.equal(before)
  })

  it('gets a model of Anthropic by automatic choice if it wants a tool of Anthropic', async () => {
    const tools = [{ type: 'web_search_20250305', name: 'web_search', input_schema: { type: 'object' } }]
    for (const [more, provider] of [
      [{}, 'mistral'],
      [{ tools }, 'anthropic'],
    ] as const) {
      const message = await connect().messages.create(ask('Hi', { model: 'auto:cost', ...more }))
      expect(message).to.have.nested.property('signalbox.provider', provider)
    }
  })

  it('gets metadata that is a map of strings, like every other client', async () => {
    const headers = { 'user-agent': 'curl/8.5.0' }
    const { body } = await gateway.call('POST', '/v1/messages', ask('Hi', { metadata: { user_id: 'u1' } }), {
      authorization: `Bearer ${gateway.demoKey}`,
      ...headers,
    })
    expect(body.metadata).to.include({ user_id: 'u1', provider: 'openai' })
    for (const value of Object.values(body.metadata)) expect(value).to.be.a('string')
    expect(body.signalbox.rules_position).to.be.a('number')
  })

  it('has its requests simulated', async () => {
    const { max_tokens: _, ...request } = ask('Hi')
    const simulate = (body: object) => gateway.call('POST', '/v1/simulate', body)
    const { status, body } = await simulate({ ...request, system: 'Be brief.', max_tokens: 5 })
    expect([status, body.data.outcome]).to.deep.equal([200, 'allowed'])
    expect((await simulate({ ...request, endpoint: 'messages' })).body.error.param).to.equal('max_tokens')
  })
})
