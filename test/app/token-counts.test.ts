import { expect } from 'chai'
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'
import { firewallRuleBody } from '../support/bodies.ts'
import { CODE, PROSE } from '../support/languages.ts'
import { newUser } from '../support/new-user.ts'
import { FORMATS, startTranslationBench, type TranslationBench } from '../support/translation.ts'

/** The endpoints that count: what they are asked with, and what they answer. */
const ENDPOINTS = {
  messages: {
    path: '/v1/messages/count_tokens?beta=true',
    bodyOf: (model: string, text: string) => ({ model, messages: [{ role: 'user', content: text }] }),
  },
  responses: {
    path: '/v1/responses/input_tokens',
    bodyOf: (model: string, text: string) => ({ model, input: text }),
  },
} as const

type EndpointName = keyof typeof ENDPOINTS

const CLAUDE_COUNT = '/anthropic/v1/messages/count_tokens'

describe('counts of input tokens', function () {
  this.timeout(60_000)
  let bench: TranslationBench

  before(async () => {
    bench = await startTranslationBench()
  })
  after(() => bench.close())

  beforeEach(() => {
    bench.calls.length = 0
    bench.respond(() => ({ status: 404, body: { error: { message: 'not found' } } }))
  })

  async function count(name: EndpointName, body: object, key = bench.gateway.demoKey) {
    const response = await fetch(bench.gateway.url + ENDPOINTS[name].path, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    // biome-ignore lint/suspicious/noExplicitAny: a body of either dialect
    return { status: response.status, body: (await response.json()) as any }
  }

  const ask = (name: EndpointName, model: string, text: string, more: object = {}) =>
    count(name, { ...ENDPOINTS[name].bodyOf(model, text), ...more })

  for (const name of Object.keys(ENDPOINTS) as EndpointName[]) {
    describe(name, () => {
      for (const [language, text] of Object.entries({ ...PROSE, ...CODE }))
        it(`are those of the tokenizer for models of OpenAI: ${language}`, async () => {
          const { status, body } = await ask(name, FORMATS.openai.model, text)
          expect(status).to.equal(200)
          expect(body.input_tokens).to.be.within(countTokens(text), countTokens(text) + 10)
          expect(bench.calls).to.deep.equal([])
        })

      for (const [format, { model }] of Object.entries(FORMATS))
        it(`answer for ${format} without calling a model`, async () => {
          const { English = '' } = PROSE
          const { status, body } = await ask(name, model, English)
          expect(status).to.equal(200)
          expect(body.input_tokens / countTokens(English)).to.be.within(0.95, 1.4)
          const paths = bench.calls.map(({ path }) => path)
          expect(paths).to.deep.equal(format === 'anthropic' ? [CLAUDE_COUNT] : [])
        })

      it('are those of Anthropic for its models', async () => {
        bench.respond(() => ({ body: { input_tokens: 4321 } }))
        const fields = name === 'messages' ? { system: 'Be brief.' } : { instructions: 'Be brief.' }
        const { body } = await ask(name, FORMATS.anthropic.model, 'Hello', fields)
        expect(body.input_tokens).to.equal(4321)
        const [call] = bench.calls
        expect(call).to.include({ path: CLAUDE_COUNT })
        expect(call?.headers).to.include({ 'x-api-key': 'key-of-anthropic-5up3r' })
        expect(Object.keys(call?.body)).to.have.members(['model', 'system', 'messages'])
        expect(call?.body).to.include({ model: 'claude-sonnet-4-6' })
        expect(JSON.stringify(call?.body.system)).to.contain('Be brief.')
      })

      for (const answer of [
        { status: 500, body: { type: 'error', error: { type: 'api_error', message: 'Overloaded' } } },
        { status: 400, body: { type: 'error', error: { type: 'invalid_request_error', message: 'No' } } },
        { body: { input_tokens: 'many' } },
        { body: 'not JSON' },
        { body: '{}', isCut: true },
      ])
        it(`do without Anthropic when it answers ${JSON.stringify(answer)}`, async () => {
          bench.respond(() => answer)
          const { status, body } = await ask(name, FORMATS.anthropic.model, PROSE.English ?? '')
          expect(status).to.equal(200)
          expect(body.input_tokens / countTokens(PROSE.English ?? '')).to.be.within(1, 1.4)
        })
    })
  }

  it('include tools, and images by their size', async () => {
    const tool = {
      name: 'get_weather',
      description: 'Returns the weather of a city.',
      input_schema: { type: 'object', properties: { city: { type: 'string', description: 'Its name' } } },
    }
    const plain = await ask('messages', 'gpt-4o', 'Hello')
    const withTool = await ask('messages', 'gpt-4o', 'Hello', { tools: [tool] })
    expect(withTool.body.input_tokens - plain.body.input_tokens).to.be.within(30, 60)
    const data = png(1024, 1024)
    const source = { type: 'base64', media_type: 'image/png', data }
    const content = [{ type: 'image', source }]
    const image = await count('messages', { model: 'gpt-4o', messages: [{ role: 'user', content }] })
    expect(image.body.input_tokens).to.be.within(765, 780)
    const part = { type: 'input_image', image_url: `data:image/png;base64,${data}` }
    const input = [{ role: 'user', content: [part] }]
    const sameImage = await count('responses', { model: 'gpt-4o', input })
    expect(sameImage.body.input_tokens).to.equal(image.body.input_tokens)
  })

  it('of long texts hold up nobody', async () => {
    const text = 'a'.repeat(200_000) + ' '.repeat(100_000)
    const [long, short] = await Promise.all([
      ask('messages', 'gpt-4o', text),
      ask('messages', 'gpt-4o', 'Hi'),
    ])
    expect(long.body.input_tokens).to.be.greaterThan(10_000)
    expect(short.body.input_tokens).to.be.lessThan(12)
  })

  it('of special tokens in a text are those of the text', async () => {
    expect((await ask('responses', 'gpt-4o', 'a <|endoftext|> b')).body.input_tokens).to.be.greaterThan(10)
  })

  it('send nothing that a rule blocks or masks', async () => {
    const { call, key } = await newUser(bench.gateway)
    await call('POST', '/v1/firewall-rules', firewallRuleBody({ pattern: 'hunter2', action: 'mask' }))
    await call('POST', '/v1/firewall-rules', firewallRuleBody({ pattern: 'forbidden', action: 'block' }))
    bench.respond(() => ({ body: { input_tokens: 7 } }))
    const { model } = FORMATS.anthropic
    const bodyOf = (text: string) => ENDPOINTS.messages.bodyOf(model, text)
    const masked = await count('messages', bodyOf('my hunter2'), key)
    expect(masked.body).to.deep.equal({ input_tokens: 7 })
    const [sent] = bench.calls
    expect(JSON.stringify(sent?.body)).to.contain('[redacted]').and.not.contain('hunter2')
    const blocked = await count('messages', bodyOf('forbidden'), key)
    expect(blocked.status).to.equal(403)
    expect(bench.calls).to.have.length(1)
  })
})

/** The base64 of a PNG with this size in its header, and a megabyte of data. */
function png(width: number, height: number): string {
  const data = Buffer.alloc(1_000_000, 7)
  data.write('89504e470d0a1a0a0000000d49484452', 'hex')
  data.writeUInt32BE(width, 16)
  data.writeUInt32BE(height, 20)
  return data.toString('base64')
}
