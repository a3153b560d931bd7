import Anthropic from '@anthropic-ai/sdk'
import { jsonSchemaOutputFormat } from '@anthropic-ai/sdk/helpers/json-schema'
import { expect } from 'chai'
import { makeParseableResponseFormat, makeParseableTextFormat } from 'openai/lib/parser'
import { type Sandbox, startSandbox } from '../../providers/sandbox/server.ts'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import { MODELS, PROVIDERS, providersAt } from '../support/providers.ts'
import { withSettings } from '../support/settings.ts'

const schema = {
  type: 'object' as const,
  properties: { city: { type: 'string' }, degrees: { type: 'number' } },
  required: ['city', 'degrees'],
  additionalProperties: false,
} as const

const chatFormat = { type: 'json_schema' as const, json_schema: { name: 'weather', strict: true, schema } }
const messages = [{ role: 'user' as const, content: 'Weather?' }]

/** Where the body for each provider holds the schema. */
// biome-ignore lint/suspicious/noExplicitAny: a body of any provider
const SENT: Readonly<Record<string, (body: any) => unknown>> = {
  openai: (body) => body.response_format.json_schema.schema,
  anthropic: (body) => body.output_config.format.schema,
  gemini: (body) => body.generationConfig.responseJsonSchema,
  mistral: (body) => body.response_format.json_schema.schema,
  deepseek: (body) => JSON.parse(body.messages[0].content.split('\n').at(-1)),
}

describe('structured outputs', () => {
  let sandbox: Sandbox
  let gateway: RunningGateway
  let narrow: RunningGateway

  before(async () => {
    sandbox = await startSandbox({ record: 10 })
    gateway = await startGateway(providersAt(sandbox))
    const settings = await withSettings('capabilities: interface\n')
    narrow = await startGateway({ ...providersAt(sandbox), ...settings })
  })
  after(async () => {
    await gateway?.stop()
    await narrow?.stop()
    await sandbox.close()
  })

  const sentTo = (provider: string) => SENT[provider]?.(sandbox.requests.at(-1)?.body)
  const warningsOf = (answer: object) =>
    JSON.stringify((answer as { signalbox?: { warnings?: unknown } }).signalbox?.warnings ?? [])

  for (const provider of PROVIDERS) {
    const model = MODELS[provider] ?? ''

    it(`are parsed by OpenAI's client from chat completions of ${provider}`, async () => {
      const response_format = makeParseableResponseFormat(chatFormat, (text) => JSON.parse(text))
      const client = gateway.openai().chat.completions
      const whole = await client.parse({ model, messages, response_format })
      expect(whole.choices[0]?.message.parsed).to.have.all.keys('city', 'degrees')
      expect(sentTo(provider)).to.deep.include({ properties: schema.properties, required: schema.required })
      const streamed = await client.stream({ model, messages, response_format }).finalChatCompletion()
      expect(streamed.choices[0]?.message.parsed).to.deep.equal(whole.choices[0]?.message.parsed)
      expect(warningsOf(whole).includes('response_format was changed')).to.equal(provider === 'deepseek')
    })

    it(`are parsed by OpenAI's client from responses of ${provider}`, async () => {
      const format = makeParseableTextFormat(
        { type: 'json_schema', name: 'weather', strict: true, schema },
        (text) => JSON.parse(text),
      )
      const response = await gateway.openai().responses.parse({ model, input: 'Weather?', text: { format } })
      expect(response.output_parsed).to.have.all.keys('city', 'degrees')
      expect(warningsOf(response).includes('text.format was changed')).to.equal(provider === 'deepseek')
    })

    it(`are parsed by Anthropic's client from messages of ${provider}`, async () => {
      const client = new Anthropic({ baseURL: gateway.url, apiKey: gateway.demoKey, maxRetries: 0 })
      const format = jsonSchemaOutputFormat(schema)
      const message = await client.messages.parse({
        ...{ model, messages, max_tokens: 5000, output_config: { format } },
      })
      expect(message.parsed_output).to.have.all.keys('city', 'degrees')
      expect(warningsOf(message).includes('output_config.format was changed')).to.equal(
        provider === 'deepseek',
      )
    })
  }

  for (const [path, body, param] of [
    ['/v1/chat/completions', { messages, response_format: chatFormat }, 'response_format'],
    [
      '/v1/responses',
      { input: 'Hi', text: { format: { type: 'json_schema', name: 'x', schema } } },
      'text.format',
    ],
    [
      '/v1/messages',
      { messages, max_tokens: 10, output_config: { format: { type: 'json_schema', schema } } },
      'output_config.format',
    ],
  ] as const) {
    it(`are refused by capabilities: interface, naming ${param} and the setting`, async () => {
      const answer = await narrow.call('POST', path, { ...body, model: 'mistral-large-4' })
      expect(answer.status, JSON.stringify(answer.body)).to.equal(400)
      expect(answer.body.error.param).to.equal(param)
      expect(answer.body.error.message).to.contain(`does not support ${param}`)
      expect(answer.body.error.message).to.contain('providers.mistral.capabilities.json, which is none')
      const deepseek = await narrow.call('POST', path, { ...body, model: 'deepseek-flash' })
      expect(deepseek.body.error.message).to.contain('providers.deepseek.capabilities.json, which is object')
    })

    it(`are answered by a provider that has them for ${path} with capabilities: interface`, async () => {
      const answer = await narrow.call('POST', path, { ...body, model: 'auto' })
      expect(answer.status, JSON.stringify(answer.body)).to.equal(200)
      expect(answer.body.signalbox.provider).to.equal('openai')
    })
  }

  it('are allowed by a row of the operator in spite of capabilities: interface', async () => {
    const settings = 'capabilities: interface\nproviders: { gemini: { capabilities: { json: schema } } }\n'
    const own = await startGateway({ ...providersAt(sandbox), ...(await withSettings(settings)) })
    const body = { model: MODELS.gemini, messages, response_format: chatFormat }
    const answer = await own.call('POST', '/v1/chat/completions', body)
    await own.stop()
    expect(answer.status, JSON.stringify(answer.body)).to.equal(200)
  })
})
