import { expect } from 'chai'
import { firewallRuleBody } from '../support/bodies.ts'
import { type RunningGateway, startGateway } from '../support/gateway.ts'

describe('direct routing', () => {
  let gateway: RunningGateway

  before(async () => {
    gateway = await startGateway()
  })
  after(() => gateway.stop())

  async function route(body: unknown, headers: Record<string, string> = {}) {
    const response = await fetch(`${gateway.routeUrl}/route`, {
      method: 'POST',
      headers: { authorization: `Bearer ${gateway.demoKey}`, 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    })
    // biome-ignore lint/suspicious/noExplicitAny: assertions read fields of any answer
    return { status: response.status, headers: response.headers, body: (await response.json()) as any }
  }

  it('returns a completion and how the model was chosen', async () => {
    const { status, body } = await route({ prompt: 'Hello', cost_priority: 'cost' })
    expect(status).to.equal(200)
    expect(body.id).to.match(/^tr_req_[0-9A-Za-z]{24}$/)
    expect(body.object).to.equal('chat.completion')
    expect(body.choices[0].message.content).to.contain('Hello')
    expect(body.usage.total_tokens).to.equal(body.usage.prompt_tokens + body.usage.completion_tokens)
    const meta = body.router_meta
    expect(meta.selected_model).to.equal(body.model)
    expect(meta.selected_provider).to.be.a('string')
    expect(meta.routing_reason).to.contain('cost')
    expect(meta.cost_savings).to.match(/^\d+\.\d%$/)
    expect(Number.parseFloat(meta.cost_savings)).to.be.greaterThan(90)
    expect(meta.estimated_cost).to.be.greaterThan(0)
    expect(meta.routing_score).to.be.within(0, 1)
    expect(Number.isInteger(meta.response_time_ms)).to.equal(true)
    expect(body).not.to.have.nested.property('metadata.warnings')
  })

  it('computes the cost from the usage', async () => {
    const { body } = await route({ prompt: 'Hello', model_preferences: ['gpt-4o'] })
    const { prompt_tokens, completion_tokens } = body.usage
    expect(body.router_meta.estimated_cost).to.be.closeTo(
      (prompt_tokens * 2.5 + completion_tokens * 10) / 1e6,
      1e-12,
    )
  })

  it('takes the first preference that it knows', async () => {
    const { body } = await route({
      prompt: 'Hi',
      model_preferences: ['no-such-model', 'claude-haiku-5-5', 'gpt-4o'],
    })
    expect(body.router_meta).to.include({
      selected_provider: 'anthropic',
      selected_model: 'claude-haiku-5-5',
    })
  })

  it('falls back to the next preference when one fails', async () => {
    const { body } = await route({
      prompt: 'Hi [[sandbox:status=500 model=claude-haiku-5-5]]',
      model_preferences: ['claude-haiku-5-5', 'gpt-4o'],
    })
    expect(body.router_meta.selected_model).to.equal('gpt-4o')
  })

  it('calls tools, and one given by name', async () => {
    const tool = (name: string) => ({
      type: 'function',
      function: { name, parameters: { type: 'object', properties: {} } },
    })
    const { body } = await route({
      prompt: 'Hi',
      tools: [tool('first'), tool('second')],
      tool_choice: 'second',
    })
    expect(body.choices[0].message.tool_calls[0].function.name).to.equal('second')
    expect(body.choices[0].finish_reason).to.equal('tool_calls')
  })

  it('chooses a model that supports JSON mode', async () => {
    const { body } = await route({ prompt: 'Hi', response_format: { type: 'json_object' } })
    expect(body).not.to.have.nested.property('metadata.warnings')
    expect(JSON.parse(body.choices[0].message.content)).to.be.an('object')
  })

  it('applies firewall rules', async () => {
    const rule = firewallRuleBody({ name: 'No x', pattern: 'route-me-not', action: 'block' })
    const { body: created } = await gateway.call('POST', '/v1/firewall-rules', rule)
    const { status, body } = await route({ prompt: 'please ROUTE-ME-NOT' })
    expect(status).to.equal(403)
    expect(body.error).to.deep.equal({
      type: 'firewall_error',
      message: 'Request blocked by firewall rule "No x".',
      code: 'firewall_blocked',
      meta: { rule_id: created.data.id },
    })
  })

  describe('errors have exactly the documented fields', () => {
    it('400 for a missing prompt', async () => {
      const { status, body } = await route({ temperature: 1 })
      expect(status).to.equal(400)
      expect(body.error).to.deep.equal({
        type: 'invalid_request_error',
        message: 'prompt is required.',
        code: 'missing_parameter',
        param: 'prompt',
      })
    })

    it('400 for a parameter out of range', async () => {
      const { status, body } = await route({ prompt: 'x', temperature: 3 })
      expect(status).to.equal(400)
      expect(body.error).to.include({ type: 'invalid_request_error', param: 'temperature' })
    })

    for (const [what, param, ours, parameters] of [
      ['out of range', 'temperature', 'invalid_value', { temperature: 3 }],
      ['of another type', 'max_tokens', 'invalid_value', { max_tokens: 'many' }],
      ['with an unknown value', 'cost_priority', 'invalid_value', { cost_priority: 'free' }],
      ['with an unknown format', 'response_format.type', 'invalid_value', { response_format: { type: 'x' } }],
      ['with an item of another type', 'model_preferences[0]', 'invalid_value', { model_preferences: [1] }],
    ] as const) {
      it(`the code of the interface for a parameter ${what}, and ours in the header`, async () => {
        const { status, headers, body } = await route({ prompt: 'x', ...parameters })
        expect(status).to.equal(400)
        const { message, ...error } = body.error
        expect(message).to.contain(param)
        expect(error).to.deep.equal({ type: 'invalid_request_error', code: 'missing_parameter', param })
        expect(headers.get('x-error-code')).to.equal(ours)
      })
    }

    it('415 for a body that is not said to be JSON', async () => {
      for (const type of ['text/plain', 'application/x-www-form-urlencoded']) {
        const { status, body, headers } = await route({ prompt: 'x' }, { 'content-type': type })
        expect(status).to.equal(415)
        expect(body.error).to.include({ type: 'invalid_request_error', code: 'unsupported_media_type' })
        expect(headers.get('x-error-code')).to.equal('unsupported_media_type')
      }
      const type = 'application/JSON; charset=utf-8'
      expect((await route({ prompt: 'x' }, { 'content-type': type })).status).to.equal(200)
    })

    it('401 for a wrong key', async () => {
      const { status, body } = await route({ prompt: 'x' }, { authorization: 'Bearer wrong' })
      expect(status).to.equal(401)
      expect(body.error).to.have.all.keys('type', 'message', 'code')
      expect(body.error).to.include({ type: 'authentication_error', code: 'invalid_api_key' })
    })

    it('503 when every provider is down', async () => {
      const { status, headers, body } = await route({ prompt: 'x [[sandbox:status=503]]' })
      expect(status).to.equal(503)
      expect(body.error).to.have.all.keys('type', 'message', 'code', 'retry_after')
      expect(body.error).to.include({ type: 'service_unavailable_error', code: 'no_providers_available' })
      expect(headers.get('retry-after')).to.equal(String(body.error.retry_after))
    })
  })

  it('is served on its own address only', async () => {
    expect((await gateway.call('POST', '/route', { prompt: 'x' })).status).to.equal(404)
    const there = await fetch(`${gateway.routeUrl}/v1/chat/completions`, { method: 'POST' })
    expect(there.status).to.equal(404)
    expect((await fetch(`${gateway.routeUrl}/healthz`)).status).to.equal(200)
  })
})

describe('the list of models', () => {
  let gateway: RunningGateway

  before(async () => {
    gateway = await startGateway()
  })
  after(() => gateway.stop())

  it('contains the models of configured providers and the modes', async () => {
    const ids: string[] = []
    for await (const model of gateway.openai().models.list()) ids.push(model.id)
    expect(ids).to.include.members([
      'auto:balance',
      'gpt-4o',
      'claude-opus-5-5',
      'gemini-4-argon',
      'deepseek-flash',
    ])
  })

  it('returns one model by id or alias, and 404 for an unknown one', async () => {
    const client = gateway.openai()
    expect(await client.models.retrieve('gpt-4o')).to.include({
      id: 'gpt-4o',
      object: 'model',
      owned_by: 'openai',
    })
    expect((await client.models.retrieve('gpt-5.6')).id).to.equal('gpt-5.6-sol')
    await client.models.retrieve('no-such-model').then(
      () => expect.fail('found'),
      (error) => expect(error.status).to.equal(404),
    )
  })
})
