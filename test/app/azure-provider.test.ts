import Anthropic from '@anthropic-ai/sdk'
import { expect } from 'chai'
import { dump } from 'js-yaml'
import { AzureOpenAI } from 'openai'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import { type ScriptedEntra, startScriptedEntra } from '../support/scripted-entra.ts'
import {
  chunk,
  completion,
  type ScriptedProvider,
  startScriptedProvider,
} from '../support/scripted-provider.ts'
import { writeSettings } from '../support/settings-file.ts'

const SAFE = { hate: { filtered: false, severity: 'safe' }, violence: { filtered: false, severity: 'safe' } }
const FILTERED = { ...SAFE, violence: { filtered: true, severity: 'high' } }
const PROMPT_RESULTS = [{ prompt_index: 0, content_filter_results: SAFE }]

/** As Azure refuses a prompt. */
const REFUSED = {
  error: {
    message:
      "The response was filtered due to the prompt triggering Azure OpenAI's content management policy. " +
      'Please modify your prompt and retry.',
    type: null,
    param: 'prompt',
    code: 'content_filter',
    status: 400,
    innererror: { code: 'ResponsibleAIPolicyViolation', content_filter_result: FILTERED },
  },
}

const messages = [{ role: 'user' as const, content: 'Which track?' }]

describe('Azure OpenAI and Foundry as providers', () => {
  let entra: ScriptedEntra
  let provider: ScriptedProvider
  let gateway: RunningGateway
  const { AZURE_AUTHORITY_HOST: authorityBefore } = process.env

  before(async () => {
    entra = await startScriptedEntra()
    process.env.AZURE_AUTHORITY_HOST = entra.authority
    provider = await startScriptedProvider()
    const { origin } = new URL(provider.url)
    const identity = { auth: 'entra', tenant_id: 'a-tenant', client_id: 'a-client' }
    const row = { format: 'openai', ...identity, client_secret_variable: 'AZURE_SECRET' }
    const older = { base_url: `${origin}/openai/deployments/{model}`, query: { 'api-version': '2024-10-21' } }
    const CONFIG = await writeSettings(
      dump({
        providers: {
          azure: { ...row, base_url: `${origin}/openai/v1`, capabilities: { json: 'schema' } },
          older: { ...row, ...older },
          foundry: {
            ...row,
            format: 'anthropic',
            base_url: `${origin}/anthropic`,
            token_scope: 'https://ai.azure.com/.default',
          },
        },
        rate_limits: { requests_per_minute: { free: null, paid: null } },
      }),
    )
    gateway = await startGateway({ CONFIG, AZURE_SECRET: 'a-client-secret-of-a-test' })
  })
  after(async () => {
    await gateway?.stop()
    provider?.close()
    entra?.close()
    if (authorityBefore === undefined) delete process.env.AZURE_AUTHORITY_HOST
    else process.env.AZURE_AUTHORITY_HOST = authorityBefore
  })

  const ask = (model: string) => gateway.call('POST', '/v1/chat/completions', { model, messages })

  async function readStream(model: string) {
    const records: unknown[] = []
    let text = ''
    let finish: string | null = null
    for await (const record of await gateway
      .openai()
      .chat.completions.create({ model, messages, stream: true })) {
      records.push(record)
      text += record.choices[0]?.delta?.content ?? ''
      finish = record.choices[0]?.finish_reason ?? finish
    }
    return { text, finish, records }
  }

  it('get the deployment in the body, or in the path with the version', async () => {
    provider.play({ body: completion({ content: 'Track 9' }) })
    expect((await ask('azure:my-gpt-4o')).status).to.equal(200)
    expect(provider.last()).to.include({ path: '/openai/v1/chat/completions' })
    expect(provider.last()?.body.model).to.equal('my-gpt-4o')
    expect((await ask('older:my-gpt-4o')).status).to.equal(200)
    expect(provider.last()?.path).to.equal(
      '/openai/deployments/my-gpt-4o/chat/completions?api-version=2024-10-21',
    )
    await ask('older:org/gpt?4')
    expect(provider.last()?.path).to.equal(
      '/openai/deployments/org%2Fgpt%3F4/chat/completions?api-version=2024-10-21',
    )
    expect((await ask('older:..')).status).to.equal(200)
    expect(provider.last()?.path).to.match(/^\/openai\/deployments\/(%2E){2}\/chat\/completions/)
    provider.play({
      body: { object: 'list', data: [{ index: 0, embedding: [1, 0] }], usage: { prompt_tokens: 1 } },
    })
    const path = '/v1/embeddings'
    await gateway.call('POST', path, { model: 'older:my-embedding', input: 'Hi' })
    expect(provider.last()?.path).to.equal(
      '/openai/deployments/my-embedding/embeddings?api-version=2024-10-21',
    )
  })

  it('are called by the AzureOpenAI class of the SDK', async () => {
    const { url: endpoint, demoKey: apiKey } = gateway
    const client = new AzureOpenAI({ endpoint, apiKey, apiVersion: '2024-10-21', maxRetries: 0 })
    provider.play({ body: completion({ content: 'Track 9' }) })
    const { choices } = await client.chat.completions.create({ model: 'older:my-gpt-4o', messages })
    expect(choices[0]?.message.content).to.equal('Track 9')
    const { authorization, 'api-key': key } = provider.last()?.headers ?? {}
    expect([
      entra.issued.map((token) => `Bearer ${token}`).includes(String(authorization)),
      key,
    ]).to.deep.equal([true, undefined])
  })

  for (const [name, body] of Object.entries({
    'with its code': REFUSED,
    'with the inner code only': {
      error: { ...REFUSED.error, code: null, message: 'The prompt was filtered.' },
    },
  }))
    it(`refuse a prompt by the content filter, ${name}`, async () => {
      provider.play({ status: 400, body })
      const { status, body: answer } = await ask('azure:my-gpt-4o')
      expect(status, JSON.stringify(answer)).to.equal(400)
      expect(answer.error.code).to.equal('content_filter')
      expect(answer.error.message).to.contain('filtered')
    })

  it('report an unknown deployment as an unknown model', async () => {
    const message = 'The API deployment for this resource does not exist.'
    provider.play({ status: 404, body: { error: { code: 'DeploymentNotFound', message } } })
    const { status, body } = await ask('older:no-such-deployment')
    expect([status, body.error.code]).to.deep.equal([404, 'model_not_found'])
  })

  it('refuse a token', async () => {
    provider.play({
      status: 401,
      body: { statusCode: 401, message: 'Access denied due to invalid credentials' },
    })
    const { status, body } = await ask('azure:my-gpt-4o')
    expect([status, body.error.code]).to.deep.equal([502, 'provider_authentication_error'])
  })

  it('send the results of filters between the chunks of a stream, which the client gets', async () => {
    const results = { content_filter_results: SAFE }
    const withResults = (delta: object, finish: string | null = null) => {
      const record = chunk(delta, finish) as { choices: object[] }
      return { ...record, choices: record.choices.map((choice) => ({ ...choice, ...results })) }
    }
    const first = { ...chunk({}), id: '', model: '', created: 0, object: '', choices: [] }
    const filters = { prompt_filter_results: PROMPT_RESULTS }
    // The asynchronous filter sends its results in records without a delta.
    const late = {
      ...chunk({}),
      choices: [{ index: 0, finish_reason: null, content_filter_offsets: {}, ...results }],
    }
    provider.play({
      chunks: [
        { ...first, ...filters },
        withResults({ role: 'assistant', content: '' }),
        withResults({ content: 'Track ' }),
        late,
        withResults({ content: '9' }),
        withResults({}, 'stop'),
        { ...chunk({}), choices: [], usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 } },
      ],
    })
    const { text, finish, records } = await readStream('azure:my-gpt-4o')
    expect([text, finish]).to.deep.equal(['Track 9', 'stop'])
    expect(JSON.stringify(records)).to.contain('prompt_filter_results').and.contain('content_filter_results')

    const anthropic = new Anthropic({ baseURL: gateway.url, apiKey: gateway.demoKey, maxRetries: 0 })
    const stream = anthropic.messages.stream({ model: 'azure:my-gpt-4o', max_tokens: 100, messages })
    expect((await stream.finalMessage()).content).to.deep.equal([{ type: 'text', text: 'Track 9' }])
    const response = await gateway
      .openai()
      .responses.create({ model: 'azure:my-gpt-4o', input: 'Which?', stream: true })
    let last: { type: string } | undefined
    for await (const event of response) last = event
    expect(last?.type).to.equal('response.completed')
  })

  it('cut off a reply by the content filter', async () => {
    provider.play({ chunks: [chunk({ content: 'Track' }), chunk({}, 'content_filter')] })
    expect(await readStream('azure:my-gpt-4o')).to.include({ text: 'Track', finish: 'content_filter' })
    const { choices, ...rest } = completion({ content: 'Track' })
    const cut = choices.map((choice) => ({
      ...choice,
      finish_reason: 'content_filter',
      content_filter_results: FILTERED,
    }))
    provider.play({ body: { ...rest, choices: cut, prompt_filter_results: PROMPT_RESULTS } })
    const { body } = await ask('azure:my-gpt-4o')
    expect(body.choices[0].finish_reason).to.equal('content_filter')
  })

  it('serve Claude in Foundry with a token of its scope', async () => {
    provider.play({
      body: {
        ...{ id: 'msg_1', type: 'message', role: 'assistant', model: 'claude-sonnet-4-6' },
        ...{ content: [{ type: 'text', text: 'Track 9' }], stop_reason: 'end_turn', stop_sequence: null },
        usage: { input_tokens: 3, output_tokens: 2 },
      },
    })
    const anthropic = new Anthropic({ baseURL: gateway.url, apiKey: gateway.demoKey, maxRetries: 0 })
    const message = await anthropic.messages.create({
      ...{ model: 'foundry:claude-sonnet-4-6', max_tokens: 100, messages },
    })
    expect(message.content).to.deep.equal([{ type: 'text', text: 'Track 9' }])
    const { path, headers } = provider.last() ?? {}
    expect(path).to.equal('/anthropic/v1/messages')
    expect(headers).not.to.have.property('x-api-key')
    const index = entra.requests.findIndex(({ fields }) => fields.scope === 'https://ai.azure.com/.default')
    expect(headers?.authorization).to.equal(`Bearer ${entra.issued[index]}`)
    expect(headers?.['anthropic-version']).to.be.a('string')
  })
})
