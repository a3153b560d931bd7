import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { expect } from 'chai'
import { dump } from 'js-yaml'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import { readBlocks } from '../support/pages.ts'
import { withSettings } from '../support/settings.ts'
import { parseYaml } from '../support/yaml.ts'

const KEY = 'tr4in-n0-known-prefix'

/** A request as a provider insists on it: anything else is answered with 400 or 401. */
interface Expected {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
}

interface Case {
  /** The provider's id in the settings that docs/providers.md shows. */
  readonly provider: string
  readonly title: string
  readonly expected: Expected
  readonly environment: Readonly<Record<string, string>>
  /** Changes of the row that the provider refuses; undefined removes a setting. */
  readonly refused: Readonly<Record<string, object>>
}

const AUTH_HEADERS = ['authorization', 'api-key', 'x-api-key', 'x-goog-api-key']

const cases: readonly Case[] = [
  {
    provider: 'ollama',
    title: 'no key, although the environment has one',
    expected: { url: '/v1/chat/completions', headers: {} },
    environment: { OLLAMA_API_KEY: KEY },
    refused: { 'an unexpected key': { auth: undefined } },
  },
  {
    provider: 'vllm',
    title: 'the key of "--api-key"',
    expected: { url: '/v1/chat/completions', headers: { authorization: `Bearer ${KEY}` } },
    environment: { VLLM_API_KEY: KEY },
    refused: { 'a wrong header': { auth: { header: 'api-key' } }, 'a missing key': { auth: 'none' } },
  },
  {
    provider: 'azure',
    title: 'the key in another header',
    expected: { url: '/openai/v1/chat/completions', headers: { 'api-key': KEY } },
    environment: { AZURE_API_KEY: KEY },
    refused: { 'an unexpected Authorization': { auth: undefined } },
  },
]

describe('a provider with another kind of authentication, as a row of the settings', () => {
  let server: Server
  let expected: Expected
  let answers: number

  before(async () => {
    server = createServer(async (request, response) => {
      const body = JSON.parse(await text(request))
      const refusal = findDeviation(expected, request.url ?? '', request.headers)
      answers += 1
      if (refusal !== undefined) {
        response.writeHead(401, { 'content-type': 'application/json' })
        response.end(JSON.stringify({ error: { message: refusal } }))
      } else if (body.stream) {
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        for (const chunk of CHUNKS) response.write(`data: ${JSON.stringify(chunk)}\n\n`)
        response.end('data: [DONE]\n\n')
      } else {
        response.end(JSON.stringify(COMPLETION))
      }
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  })
  beforeEach(() => {
    answers = 0
  })
  after(() => server.close())

  const ask = (gateway: RunningGateway, model: string, more: object = {}) =>
    gateway.call('POST', '/v1/chat/completions', {
      model,
      messages: [{ role: 'user', content: 'Which track?' }],
      ...more,
    })

  /** The row of the page, with this server's address in place of the shown one. */
  async function readRow(provider: string) {
    const blocks = (await readBlocks('docs/providers.md', 'yaml')).map((yaml) => parseYaml(yaml))
    const row = blocks.find((block) => block?.providers?.[provider])?.providers[provider]
    expect(row, `${provider} in docs/providers.md`).to.be.an('object')
    const { origin } = new URL(row.base_url)
    const { port } = server.address() as AddressInfo
    return { ...row, base_url: row.base_url.replace(origin, `http://127.0.0.1:${port}`) }
  }

  async function startWith(provider: string, row: object, environment: Readonly<Record<string, string>>) {
    const settings = await withSettings(dump({ providers: { [provider]: row }, ...UNLIMITED_RATE }))
    return startGateway({ ...settings, ...environment })
  }

  for (const { provider, title, expected: form, environment, refused } of cases) {
    it(`${provider} gets ${title}`, async () => {
      expected = form
      const gateway = await startWith(provider, await readRow(provider), environment)

      const whole = await ask(gateway, `${provider}:gpt-4o`)
      expect(whole.body.choices?.[0].message.content, JSON.stringify(whole.body)).to.equal('Track 9.')
      const stream = gateway.openai().chat.completions.stream({
        model: `${provider}:gpt-4o`,
        messages: [{ role: 'user', content: 'Which track?' }],
      })
      expect(await stream.finalContent()).to.equal('Track 9.')
      expect(answers).to.equal(2)
      expect(gateway.stderr()).not.to.contain('no provider is configured')
      expect(gateway.stderr()).not.to.contain(KEY)
      await gateway.stop()
    })

    for (const [deviation, change] of Object.entries(refused)) {
      it(`${provider} refuses ${deviation}, and the error does not contain the key`, async () => {
        expected = form
        const gateway = await startWith(provider, { ...(await readRow(provider)), ...change }, environment)

        const { status, body } = await ask(gateway, `${provider}:gpt-4o`)
        expect({ status, code: body.error.code }).to.deep.equal({
          status: 502,
          code: 'provider_authentication_error',
        })
        expect(JSON.stringify(body)).not.to.contain(KEY)
        await gateway.stop()
        expect(gateway.stderr()).not.to.contain(KEY)
      })
    }
  }

  it('vllm without "--api-key" needs only auth: none', async () => {
    expected = { url: '/v1/chat/completions', headers: {} }
    const gateway = await startWith('vllm', { ...(await readRow('vllm')), auth: 'none' }, {})
    expect((await ask(gateway, 'vllm:qwen3')).status).to.equal(200)
    await gateway.stop()
  })
})

/** Says which part of a request deviates from the expected form; it quotes the headers, as providers do. */
function findDeviation({ url, headers }: Expected, actualUrl: string, actual: IncomingHttpHeaders) {
  if (actualUrl !== url) return `unknown URL ${actualUrl}, headers ${JSON.stringify(actual)}`
  const wrong = AUTH_HEADERS.find((name) => actual[name] !== headers[name])
  return wrong && `wrong ${wrong}: ${actual[wrong]}`
}

const UNLIMITED_RATE = { rate_limits: { requests_per_minute: { free: null, paid: null } } }

const COMPLETION = {
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1,
  model: 'gpt-4o',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Track 9.' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 3, completion_tokens: 3, total_tokens: 6 },
}

const CHUNKS = [
  { choices: [{ index: 0, delta: { role: 'assistant', content: 'Track ' } }] },
  { choices: [{ index: 0, delta: { content: '9.' }, finish_reason: 'stop' }] },
  { choices: [], usage: COMPLETION.usage },
].map((chunk) => ({
  id: 'chatcmpl-1',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'gpt-4o',
  ...chunk,
}))
