import Anthropic from '@anthropic-ai/sdk'
import { expect } from 'chai'
import { type Sandbox, startSandbox } from '../../providers/sandbox/server.ts'
import { firewallRuleBody } from '../support/bodies.ts'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import { newUser } from '../support/new-user.ts'
import { MODELS, PROVIDERS, providersAt } from '../support/providers.ts'

const user = (content: string): Anthropic.MessageParam => ({ role: 'user', content })

const WEATHER: Anthropic.Tool = {
  name: 'get_weather',
  description: 'The weather in a city',
  input_schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
}

describe("POST /v1/messages, with Anthropic's official client", function () {
  this.timeout(180_000)
  let sandbox: Sandbox
  let gateway: RunningGateway
  let client: Anthropic

  before(async () => {
    sandbox = await startSandbox({ record: 50 })
    gateway = await startGateway(providersAt(sandbox))
    client = connect()
  })
  after(async () => {
    await gateway?.stop()
    await sandbox?.close()
  })

  const connect = (apiKey = gateway.demoKey) => new Anthropic({ baseURL: gateway.url, apiKey, maxRetries: 0 })

  /** The body of the last request that a provider received. */
  const received = () => sandbox.requests.at(-1)?.body as Record<string, unknown>

  for (const thread of [{ type: 'create' }, { type: 'continue', previous_message_id: 'msg_1' }]) {
    it(`refuses threads in the words with which SDKs send the whole conversation: ${thread.type}`, async () => {
      const before = sandbox.requests.length
      const body = { model: MODELS.anthropic, max_tokens: 1000, messages: [user('Hello')], thread }
      for (const path of ['/v1/messages', '/v1/messages/count_tokens']) {
        const answer = await gateway.call('POST', path, body)
        expect(answer.status).to.equal(400)
        const details = { error_code: 'thread_unsupported_request' }
        expect((answer.body as { error: unknown }).error).to.deep.include({
          type: 'invalid_request_error',
          param: 'thread',
          details,
        })
      }
      expect(sandbox.requests.length).to.equal(before)
    })
  }

  for (const provider of PROVIDERS) {
    const model = MODELS[provider] ?? ''

    it(`${provider}: instructions at the end, as Claude Code sends them`, async () => {
      const messages = [user('Which track?'), { role: 'system', content: 'Be brief.' }]
      const body = { model, max_tokens: 1000, messages }
      const { status, body: message } = await gateway.call('POST', '/v1/messages', body)
      expect(status, JSON.stringify(message)).to.equal(200)
      expect(JSON.stringify(received())).to.contain('Be brief.')
    })

    it(`${provider}: text, whole and streamed`, async () => {
      const request = { model, max_tokens: 1000, system: 'Be kind.', messages: [user('Grüße, 世界')] }
      const whole: Anthropic.Message = await client.messages.create(request)
      const stream = client.messages.stream(request)
      const texts: string[] = []
      stream.on('text', (text) => texts.push(text))
      const streamed = await stream.finalMessage()
      for (const message of [whole, streamed]) {
        expect(message).to.include({ type: 'message', role: 'assistant', stop_reason: 'end_turn' })
        expect(message.id).to.match(/^msg_/)
        expect(message.model).to.be.a('string').and.not.equal('')
        expect(textOf(message)).to.contain('Grüße, 世界')
        expect(message.usage.input_tokens).to.be.greaterThan(0)
        expect(message.usage.output_tokens).to.be.greaterThan(0)
      }
      expect(streamed.content).to.deep.equal(whole.content)
      expect(streamed.usage).to.deep.equal(whole.usage)
      expect(texts.join('')).to.equal(textOf(whole))
      expect(extended(whole).signalbox).to.include({ provider, routing_mode: 'balance' })
      expect(extended(whole).metadata).to.include({ provider })
      expect(extended(streamed).signalbox).to.include({ provider })
    })

    it(`${provider}: tools, a result and a forced call`, async () => {
      const messages = [user('Use get_weather.')]
      const request = { model, max_tokens: 1000, messages, tools: [WEATHER] }
      const whole = await client.messages.create(request)
      const stream = client.messages.stream(request)
      const jsons: unknown[] = []
      stream.on('inputJson', (_, snapshot) => jsons.push(snapshot))
      const streamed = await stream.finalMessage()
      for (const message of [whole, streamed]) {
        expect(message.stop_reason).to.equal('tool_use')
        const [call] = message.content.filter((block) => block.type === 'tool_use')
        expect(call).to.deep.include({ name: 'get_weather', caller: { type: 'direct' } })
        expect(call?.input).to.have.property('city')
        const answer = await client.messages.create({
          ...request,
          messages: [
            ...messages,
            { role: 'assistant', content: message.content },
            {
              role: 'user',
              content: [{ type: 'tool_result', tool_use_id: call?.id ?? '', content: 'Rain in Basel.' }],
            },
          ],
        })
        expect(textOf(answer)).to.contain('Rain in Basel.')
      }
      expect(jsons.at(-1)).to.have.property('city')
    })

    it(`${provider}: an image, a document and stop sequences`, async () => {
      const image = { type: 'base64', media_type: 'image/png', data: PIXEL } as const
      const text = { type: 'text', media_type: 'text/plain', data: 'Platform nine.' } as const
      const message = await client.messages.create({
        model,
        max_tokens: 1000,
        stop_sequences: ['gamma'],
        messages: [
          {
            role: 'user',
            content: [
              { type: 'image', source: image },
              ...(provider === 'anthropic' || provider === 'openai' ? [] : []),
              { type: 'document', source: text, title: 'Plan' },
              { type: 'text', text: 'alpha beta gamma' },
            ],
          },
        ],
      })
      expect(textOf(message)).to.contain('beta').and.not.contain('gamma')
      const body = JSON.stringify(received())
      expect(body).to.contain(PIXEL)
      expect(body).to.contain('Platform nine.').and.contain('Plan')
    })

    it(`${provider}: thinking, which is kept and can be sent back`, async () => {
      const thinking = { type: 'enabled', budget_tokens: 2000 } as const
      const request = { model, max_tokens: 9000, thinking, messages: [user('Think first.')] }
      const whole = await client.messages.create(request)
      const streamed = await client.messages.stream(request).finalMessage()
      for (const message of [whole, streamed]) {
        const [first] = message.content
        expect(first).to.include({ type: 'thinking' })
        expect(first).to.have.property('thinking').that.contains('Think first.')
        await client.messages.create({
          ...request,
          messages: [...request.messages, { role: 'assistant', content: message.content }, user('And?')],
        })
      }
    })
  }

  it('automatic choice, and rules of the user', async () => {
    const message = await client.messages.create({
      model: 'auto:cost',
      max_tokens: 10,
      messages: [user('x')],
    })
    expect(extended(message).signalbox).to.include({ routing_mode: 'cost' })
    const { call, key } = await newUser(gateway)
    await call('POST', '/v1/firewall-rules', firewallRuleBody({ pattern: 'secret', action: 'mask' }))
    const masked = await connect(key).messages.create({
      model: MODELS.anthropic ?? '',
      max_tokens: 1000,
      messages: [user('my secret')],
    })
    expect(textOf(masked)).to.contain('my [redacted]')
  })

  it('count_tokens', async () => {
    const messages = [user('a'.repeat(400))]
    const counted = await client.messages.countTokens({ model: 'gpt-4o', messages })
    expect(counted.input_tokens).to.be.within(50, 60)
    const beta = await client.beta.messages.countTokens({ model: 'gpt-4o', messages })
    expect(beta.input_tokens).to.equal(counted.input_tokens)
  })
})

const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

const textOf = ({ content }: Anthropic.Message) =>
  content.map((block) => (block.type === 'text' ? block.text : '')).join('')

// biome-ignore lint/suspicious/noExplicitAny: extension fields are not in the SDK's types
const extended = (message: Anthropic.Message) => message as any
