import { expect } from 'chai'
import { chatBody } from '../support/bodies.ts'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import { withSettings } from '../support/settings.ts'

const SETTINGS = `
rate_limits: { requests_per_minute: { free: null, paid: null } }
model_aliases: { team-default: openai/gpt-4o-mini, cheapest: 'auto:cost', GPT-Legacy: gpt-4o }
models:
  - id: openai/gpt-oss
    provider: mistral
    context: 1000
    max_output: 100
    price: { input: 1, output: 1 }
    quality: 1
    latency_ms: 1
    capabilities: { tools: true, images: false, json: none }
  - id: pensioner
    provider: openai
    retires: '2026-01-31'
    context: 1000
    max_output: 100
    price: { input: 0, output: 0 }
    quality: 100
    latency_ms: 1
    capabilities: { tools: true, images: true, json: schema }
  - id: on-request
    provider: openai
    automatic: false
    context: 100000
    max_output: 1000
    price: { input: 0, output: 0 }
    quality: 100
    latency_ms: 1
    capabilities: { tools: true, images: true, json: schema }
`

describe('names of models', () => {
  let gateway: RunningGateway
  before(async () => {
    gateway = await startGateway(await withSettings(SETTINGS))
  })
  after(() => gateway.stop())

  const chat = (model: unknown) =>
    gateway.call('POST', '/v1/chat/completions', { ...chatBody('Hello'), model })
  const retrieve = (name: string) => gateway.call('GET', `/v1/models/${name}`)

  for (const [name, provider, model] of [
    ['gpt-4o', 'openai', 'gpt-4o'],
    ['GPT-4o', 'openai', 'gpt-4o'],
    ['openai/gpt-4o', 'openai', 'gpt-4o'],
    ['OpenAI:GPT-4o', 'openai', 'gpt-4o'],
    ['gpt-4o-2024-08-06', 'openai', 'gpt-4o-2024-08-06'],
    ['openai/gpt-4o-2024-08-06', 'openai', 'gpt-4o-2024-08-06'],
    ['claude-opus-4-6-20260205', 'anthropic', 'claude-opus-4-6-20260205'],
    ['anthropic/claude-opus-4.6', 'anthropic', 'claude-opus-4-6'],
    ['models/gemini-3.8-flash', 'gemini', 'gemini-3.8-flash'],
    ['google/gemini-3.8-flash', 'gemini', 'gemini-3.8-flash'],
    ['gemini-flash-latest', 'gemini', 'gemini-3.8-flash'],
    ['mistralai/mistral-large-2512', 'mistral', 'mistral-large-2512'],
    ['gpt-4-turbo', 'openai', 'gpt-4-turbo'],
    ['team-default', 'openai', 'gpt-4o-mini'],
    ['Team-Default', 'openai', 'gpt-4o-mini'],
    ['gpt-legacy', 'openai', 'gpt-4o'],
    ['openai/gpt-oss', 'mistral', 'openai/gpt-oss'],
    ['openai/brand-new', 'openai', 'brand-new'],
    ['claude-brand-new', 'anthropic', 'claude-brand-new'],
    ['gpt-9', 'openai', 'gpt-9'],
    ['GPT-9-mini', 'openai', 'GPT-9-mini'],
    ['o9-mini', 'openai', 'o9-mini'],
    ['ft:gpt-9:team', 'openai', 'ft:gpt-9:team'],
    ['gemini-9-pro', 'gemini', 'gemini-9-pro'],
    ['models/gemini-9-pro', 'gemini', 'gemini-9-pro'],
    ['mistral-giant-9', 'mistral', 'mistral-giant-9'],
    ['deepseek-v9', 'deepseek', 'deepseek-v9'],
  ] as const) {
    it(`accepts ${name} as ${provider}/${model}, in requests and as a path`, async () => {
      const { status, body } = await chat(name)
      expect(status, JSON.stringify(body)).to.equal(200)
      expect([body.provider, body.model]).to.deep.equal([provider, model])
      for (const path of [name, encodeURIComponent(name)]) {
        const found = await retrieve(path)
        expect(found.status, path).to.equal(200)
        expect(found.body, path).to.include({ id: model, object: 'model', owned_by: provider })
      }
    })
  }

  for (const [name, mode] of [
    ['auto', 'balance'],
    ['auto:fast', 'latency'],
    ['auto:speed', 'latency'],
    ['AUTO:Balanced', 'balance'],
    ['cheapest', 'cost'],
  ] as const) {
    it(`accepts ${name} as the mode ${mode}, in requests and as a path`, async () => {
      const { status, body } = await chat(name)
      expect([status, body.routing_mode]).to.deep.equal([200, mode])
      expect((await retrieve(name)).body).to.include({ id: name, owned_by: 'signalbox' })
    })
  }

  it('counts null as missing', async () => {
    expect((await chat(null)).body).to.include({ routing_mode: 'balance' })
    const response = await gateway.call('POST', '/v1/responses', { input: 'Hello', model: null })
    expect(response.status).to.equal(200)
  })

  it('answers 404 with the closest names', async () => {
    for (const [name, hint] of [
      ['pt-4o-mini', 'gpt-4o-mini'],
      ['claud-opus-5', 'claude-opus-5'],
      ['team-defualt', 'team-default'],
    ] as const) {
      for (const { status, body } of [await chat(name), await retrieve(name)]) {
        expect([status, body.error.code, body.error.param]).to.deep.equal([404, 'model_not_found', 'model'])
        expect(body.error.message).to.contain(`Did you mean ${hint}`)
      }
    }
    expect((await chat('no-such-thing-at-all')).body.error.message).not.to.contain('Did you mean')
    expect((await retrieve('auto:cheap')).status).to.equal(404)
  })

  it('lists all modes that requests accept, and the aliases', async () => {
    const { body } = await gateway.call('GET', '/v1/models')
    const ids = body.data.map(({ id }: { id: string }) => id)
    expect(ids).to.include.members(['auto:balance', 'auto:cost', 'auto:quality', 'auto:latency', 'auto:fast'])
    expect(ids).to.include.members(['cheapest', 'gpt-4o'])
    const mini = body.data.find(({ id }: { id: string }) => id === 'gpt-4o-mini')
    expect(mini.aliases).to.include('team-default')
    expect(ids.length).to.equal(new Set(ids).size)
  })

  it('passes on a request for a retired model with a warning, and never chooses one', async () => {
    const { body } = await chat('pensioner')
    expect(body.model).to.equal('pensioner')
    expect(body.signalbox.warnings[0].message).to.contain('openai retired pensioner on 2026-01-31')
    expect((await retrieve('pensioner')).body).to.include({ retires: '2026-01-31' })
    for (const mode of ['cost', 'quality', 'latency'])
      expect((await chat(`auto:${mode}`)).body.model).not.to.equal('pensioner')
  })

  it('chooses a model with automatic: false only for those who prefer it', async () => {
    for (const mode of ['cost', 'quality', 'latency'])
      expect((await chat(`auto:${mode}`)).body.model).not.to.equal('on-request')
    expect((await chat('on-request')).body.model).to.equal('on-request')
    const body = { prompt: 'Hello', model_preferences: ['on-request'] }
    const response = await fetch(`${gateway.routeUrl}/route`, {
      method: 'POST',
      headers: { authorization: `Bearer ${gateway.demoKey}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    const { router_meta } = (await response.json()) as { router_meta: { selected_model: string } }
    expect(router_meta.selected_model).to.equal('on-request')
  })

  it('refuses settings with an alias of an unknown model', async () => {
    for (const aliases of ['{ a: no-such-model }', '{ a: b, b: gpt-4o }', "{ a: 'auto:cheap' }"]) {
      const failure = await startGateway(await withSettings(`model_aliases: ${aliases}\n`)).then(
        (started) => started.stop(),
        (error: Error) => error.message,
      )
      expect(failure).to.contain('model_aliases.a')
    }
  })

  it('says that /v1 is missing from the base URL, or is there twice', async () => {
    for (const [path, hint] of [
      ['/chat/completions', '/v1/chat/completions'],
      ['/models', '/v1/models'],
      ['/v1/v1/messages', '/v1/messages'],
    ] as const) {
      const { status, body } = await gateway.call('POST', path, {})
      expect(status).to.equal(404)
      expect(body.error.message).to.contain(`Use ${hint}`)
    }
  })
})
