import { once } from 'node:events'
import { createServer as createHttpsServer } from 'node:https'
import { type AddressInfo, createServer as createTcpServer } from 'node:net'
import { expect } from 'chai'
import { dump } from 'js-yaml'
import { runCommand } from '../support/command.ts'
import { startScriptedEntra } from '../support/scripted-entra.ts'
import { completion, type ScriptedProvider, startScriptedProvider } from '../support/scripted-provider.ts'
import { startScriptedVertex, vertexRow } from '../support/scripted-vertex.ts'
import { withSettings } from '../support/settings.ts'
import { readTestTls } from '../support/tls.ts'

const KEY = 'ch3ck-key-n0-known-prefix'

const TENANT = '8a1b2c3d-0000-4000-8000-000000000001'
const CLIENT = '8a1b2c3d-0000-4000-8000-000000000002'

describe('signalbox providers check', () => {
  let provider: ScriptedProvider
  before(async () => {
    provider = await startScriptedProvider()
  })
  after(() => provider.close())

  const row = (more: object = {}) => ({ preset: 'groq', base_url: provider.url, ...more })

  async function check(providers: object, args: readonly string[] = [], settings: object = {}) {
    const environment = { GROQ_API_KEY: KEY, ...(await withSettings(dump({ providers, ...settings }))) }
    const result = await runCommand(['providers', 'check', ...args], environment)
    expect(result.stdout + result.stderr).not.to.contain(KEY)
    return result
  }

  const play = (body: object | string, status = 200) => provider.play({ body, status })
  const listOf = (...ids: readonly string[]) => ({ object: 'list', data: ids.map((id) => ({ id })) })

  it('says that the sandbox is used, and exits with 0, if no provider is configured', async () => {
    const { code, stdout } = await runCommand(['providers', 'check'], {})
    expect({ code, stdout }).to.deep.equal({
      code: 0,
      stdout: 'No provider is configured, so the sandbox replaces all of them.\n',
    })
  })

  it('lists the models with the key, and prints their number and the time', async () => {
    play(listOf('llama-a', 'llama-b'))
    const { code, stdout } = await check({ fast: row() })
    expect(code).to.equal(0)
    expect(stdout).to.match(/^fast {2}ok {2}\d+ ms {2}2 models\n$/)
    expect(provider.last()).to.include({ path: '/v1/models', body: undefined })
    expect(provider.last()?.headers.authorization).to.equal(`Bearer ${KEY}`)
  })

  for (const [format, base, path, headers, list] of [
    ['openai', '/v1', '/v1/models', { authorization: `Bearer ${KEY}` }, listOf('a')],
    [
      ...['anthropic', '', '/v1/models?limit=1000'],
      { 'x-api-key': KEY, 'anthropic-version': '2023-06-01' },
      { data: [{ type: 'model', id: 'a' }] },
    ],
    [
      'gemini',
      '',
      '/v1beta/models?pageSize=1000',
      { 'x-goog-api-key': KEY },
      { models: [{ name: 'models/a' }] },
    ],
    ['mistral', '', '/v1/models', { authorization: `Bearer ${KEY}` }, listOf('a')],
    ['deepseek', '', '/models', { authorization: `Bearer ${KEY}` }, listOf('a')],
  ] as const) {
    it(`asks for the list of ${format}`, async () => {
      play(list as object)
      const { origin } = new URL(provider.url)
      const own = { format, base_url: `${origin}${base}`, key_variable: 'GROQ_API_KEY' }
      const { code, stdout } = await check({ mine: own }, ['--json'])
      expect(code, stdout).to.equal(0)
      expect(JSON.parse(stdout)).to.have.length(1)
      expect(JSON.parse(stdout)[0]).to.include({ provider: 'mine', status: 'ok', models: 1 })
      expect(provider.last()?.path).to.equal(path)
      expect(provider.last()?.headers).to.include(headers)
    })
  }

  it('asks for what a preset or a deployment of Azure has in place of a list', async () => {
    const { origin } = new URL(provider.url)
    play({ data: { label: 'my key', limit: null } })
    expect(await check({ or: { ...row(), check_path: 'key' } })).to.include({ code: 0 })
    expect(provider.last()?.path).to.equal('/v1/key')
    play([{ id: 'a', object: 'model' }])
    expect((await check({ together: row() })).stdout).to.contain('1 model\n')
    play(listOf('gpt-4o'))
    const azure = {
      ...{
        format: 'openai',
        base_url: `${origin}/openai/deployments/my-gpt-4o`,
        auth: { header: 'api-key' },
      },
      ...{ key_variable: 'GROQ_API_KEY', query: { 'api-version': '2024-10-21' } },
    }
    expect(await check({ azure })).to.include({ code: 0 })
    expect(provider.last()?.path).to.equal('/openai/models?api-version=2024-10-21')
    expect(provider.last()?.headers['api-key']).to.equal(KEY)
  })

  it('names models of the catalogue that the provider does not list', async () => {
    play(listOf('listed', 'dated-2026-01-01', 'other'))
    const model = (id: string) => ({
      ...{ id, provider: 'fast', context: 1000, max_output: 100, price: { input: 1, output: 1 }, quality: 1 },
      ...{ latency_ms: 1, capabilities: { tools: true, images: false, json: 'none' } },
    })
    const models = [model('listed'), model('dated'), model('gone')]
    const { code, stdout } = await check({ fast: row() }, [], { models })
    expect(code).to.equal(0)
    expect(stdout).to.contain('3 models; not listed: gone\n')
  })

  for (const [status, body, problem] of [
    [401, { error: { message: `Invalid key ${KEY}` } }, 'The key was rejected (401). Check GROQ_API_KEY.'],
    [400, { error: { message: 'API key not valid.' } }, 'The key was rejected (400). Check GROQ_API_KEY.'],
    [
      ...[403, { error: { message: `No access for ${KEY}` } }],
      'The key has no access (403). Check its permissions and the account. It says: "No access for [redacted]"',
    ],
    [
      404,
      'not found',
      '/v1/models was not found (404). Check base_url, which is the part of the address before /models.',
    ],
    [302, '', '/v1/models redirects to another address (302).'],
    [429, {}, 'The provider limits requests at the moment (429).'],
    [500, { error: 'oops' }, '/v1/models answered with 500. It says: "oops"'],
    [200, '<html>', 'answered with something else than JSON.'],
  ] as const) {
    it(`says what an answer with ${status} means, and exits with 1`, async () => {
      play(body, status)
      const { code, stdout, stderr } = await check({ fast: row() })
      expect(code).to.equal(1)
      expect(stdout).to.contain('failed').and.contain(problem)
      expect(stderr).to.equal('1 of 1 checks failed.\n')
    })
  }

  it('says that a server that was configured without a key needs one', async () => {
    play({ error: 'no key' }, 401)
    const { code, stdout } = await check({ local: { preset: 'vllm', base_url: provider.url } })
    expect(code).to.equal(1)
    expect(stdout).to.contain('needs a key (401): set key_variable in place of auth: none.')
  })

  it('says why a provider cannot be reached, and checks the others', async () => {
    play(listOf('a'))
    const closed = createTcpServer().listen(0, '127.0.0.1')
    await once(closed, 'listening')
    const { port } = closed.address() as AddressInfo
    await new Promise((resolve) => closed.close(resolve))
    const { key, certificate: cert } = (await readTestTls()).tls
    const secure = createHttpsServer({ key, cert }, (_, response) => response.end('{}')).listen(
      0,
      '127.0.0.1',
    )
    await once(secure, 'listening')
    const securePort = (secure.address() as AddressInfo).port
    const plainPort = new URL(provider.url).port
    const { code, stdout, stderr } = await check({
      unknown: row({ base_url: 'http://no-such-host.invalid/v1' }),
      closed: row({ base_url: `http://127.0.0.1:${port}/v1` }),
      untrusted: row({ base_url: `https://127.0.0.1:${securePort}/v1` }),
      plain: row({ base_url: `https://127.0.0.1:${plainPort}/v1` }),
      fast: row(),
    })
    secure.close()
    secure.closeAllConnections()
    expect({ code, stderr }).to.deep.equal({ code: 1, stderr: '4 of 5 checks failed.\n' })
    const lineOf = (id: string) => stdout.split('\n').find((line) => line.startsWith(`${id} `))
    expect(lineOf('unknown')).to.contain('The host no-such-host.invalid was not found.')
    expect(lineOf('closed')).to.contain(`127.0.0.1:${port} refused the connection.`)
    expect(lineOf('untrusted')).to.contain(`The TLS certificate of 127.0.0.1:${securePort} is not trusted`)
    expect(lineOf('plain')).to.contain(`127.0.0.1:${plainPort} does not speak TLS`)
    expect(lineOf('fast')).to.contain('ok').and.contain('1 model')
  })

  it('sends a request of one token with --paid only, where no list is free of charge', async () => {
    const paid = { paid: row({ check_path: 'none' }) }
    play(completion({ content: 'H' }))
    const free = await check(paid)
    expect(free.code).to.equal(0)
    expect(free.stdout).to.contain('not checked').and.contain('use --paid')
    const unnamed = await check(paid, ['--paid'])
    expect(unnamed).to.include({ code: 1 })
    expect(unnamed.stdout).to.contain('Name one with --model')
    const asked = await check(paid, ['--paid', '--model', 'llama-a'])
    expect(asked.code, asked.stdout).to.equal(0)
    expect(asked.stdout).to.match(/^paid {2}ok {2}\d+ ms\n$/)
    expect(provider.last()?.body).to.include({ model: 'llama-a', max_tokens: 1 })
    play({ error: { message: `bad key ${KEY}` } }, 401)
    const rejected = await check(paid, ['--paid', '--model', 'llama-a'])
    expect(rejected).to.include({ code: 1 })
  })

  describe('says what the answer to a request with --paid means', () => {
    const paid = ['--paid', '--model', 'some-model']
    for (const [title, own, script, problem] of [
      [
        'a wrong key',
        {},
        { status: 401, body: { error: `bad ${KEY}` } },
        'The key was rejected (401). Check GROQ_API_KEY.',
      ],
      [
        ...['a key without access', {}, { status: 403, body: { error: { message: 'no' } } }],
        'The key has no access (403). Check its permissions and the account.',
      ],
      [
        ...[
          'an unknown model',
          {},
          { status: 404, body: { error: { message: 'No some-model', code: 'model_not_found' } } },
        ],
        'fast rejected the request: No some-model. Name another model with --model.',
      ],
      [
        ...[
          'a provider that does not answer',
          { timeouts: { first_byte_ms: 100 } },
          { until: new Promise(() => {}) },
        ],
        'did not respond in time. Check base_url and timeouts.first_byte_ms.',
      ],
      [
        'a closed port',
        { base_url: 'http://127.0.0.1:9/v1' },
        {},
        '127.0.0.1:9 refused the connection. Check that',
      ],
      [
        'an unknown host',
        { base_url: 'http://no-such-host.invalid/v1' },
        {},
        'The host no-such-host.invalid was not found.',
      ],
    ] as const) {
      it(title, async () => {
        provider.play(script)
        const { code, stdout } = await check({ fast: row({ check_path: 'none', ...own }) }, paid)
        expect(stdout)
          .to.match(/^fast {2}failed/)
          .and.contain(problem)
        expect(code).to.equal(1)
      })
    }

    it('a model of Vertex AI, with the identity of Google', async () => {
      const vertex = await startScriptedVertex()
      const text = { parts: [{ text: 'H' }] }
      vertex.play({ body: { candidates: [{ content: text, finishReason: 'STOP' }] } })
      const mine = vertexRow(vertex)
      const free = await check({ mine })
      expect(free.stdout).to.match(/^mine {2}ok .* It has credentials\. Nothing was called: use --paid\.\n$/)
      expect(vertex.requests).to.have.length(0)
      expect((await check({ mine }, paid)).stdout).to.match(/^mine {2}ok {2}\d+ ms\n$/)
      const error = { code: 403, status: 'PERMISSION_DENIED', message: 'aiplatform.endpoints.predict' }
      vertex.play({ status: 403, body: { error } })
      expect((await check({ mine }, paid)).stdout).to.contain(
        'The identity has no access (403 PERMISSION_DENIED). Check its permissions and the account.',
      )
      const gone = await check({ mine: { ...mine, credentials_file: '/no/such/file' } }, paid)
      expect(gone.code).to.equal(1)
      expect(gone.stdout).to.contain(
        'The credentials cannot be had: reading the key file failed: ENOENT. Check the settings beside auth.',
      )
      vertex.close()
    })

    it('a model of Bedrock, with the identity of AWS', async () => {
      const variables = { AWS_ACCESS_KEY_ID: 'AKIAIOSFODNN7EXAMPLE', AWS_SECRET_ACCESS_KEY: KEY }
      const before = { ...process.env }
      Object.assign(process.env, variables)
      try {
        const base_url = new URL(provider.url).origin
        const mine = { format: 'bedrock', auth: 'aws', region: 'eu-west-1', base_url }
        const refusal = { __type: 'UnrecognizedClientException', message: 'The security token is invalid.' }
        provider.play({ status: 403, body: refusal })
        const { code, stdout } = await check({ mine }, ['--paid', '--model', 'amazon.nova-lite-v1:0'])
        expect(code).to.equal(1)
        expect(stdout).to.contain('The credentials were rejected (403 UnrecognizedClientException).')
      } finally {
        for (const name of Object.keys(variables))
          if (before[name] === undefined) delete process.env[name]
          else process.env[name] = before[name]
      }
    })
  })

  it('checks each deployment with its own address, key and model', async () => {
    const west = await startScriptedProvider()
    west.play({ body: { error: 'wrong key' }, status: 401 })
    play(listOf('a'))
    const deployments = [
      { id: 'east', key: 'EAST_KEY' },
      { id: 'west', base_url: west.url, key: 'WEST_KEY' },
      { id: 'north', key: 'NORTH_KEY' },
    ]
    const yaml = dump({ providers: { fast: row({ deployments }) } })
    const environment = { EAST_KEY: 'an-east3rn-key-of-tests', WEST_KEY: 'a-w3stern-key-of-tests' }
    const result = await runCommand(['providers', 'check'], { ...environment, ...(await withSettings(yaml)) })
    west.close()
    const lines = result.stdout.split('\n')
    expect(lines[0]).to.match(/^fast\/east +ok .*1 model$/)
    expect(lines[1]).to.match(/^fast\/west +failed .*The key was rejected \(401\)\. Check WEST_KEY\.$/)
    expect(lines[2]).to.match(/^fast\/north +failed .*It has no key: set NORTH_KEY\.$/)
    expect(provider.last()?.headers.authorization).to.equal(`Bearer ${environment.EAST_KEY}`)
    expect(west.last()?.headers.authorization).to.equal(`Bearer ${environment.WEST_KEY}`)
    expect(result.stderr).to.equal('2 of 3 checks failed.\n')
  })

  it('fetches the credentials of a cloud, and names the step that fails', async () => {
    const entra = await startScriptedEntra()
    const before = process.env.AZURE_AUTHORITY_HOST
    process.env.AZURE_AUTHORITY_HOST = entra.authority
    try {
      play(listOf('gpt-4o'))
      const { origin } = new URL(provider.url)
      const secret = 'canary~of~a~client~secret'
      const azure = {
        ...{ format: 'openai', base_url: `${origin}/openai/deployments/{model}`, auth: 'entra' },
        ...{ tenant_id: TENANT, client_id: CLIENT, client_secret_variable: 'AZURE_SECRET' },
      }
      const yaml = dump({ providers: { azure } })
      const run = async () =>
        runCommand(['providers', 'check'], { AZURE_SECRET: secret, ...(await withSettings(yaml)) })
      const answered = await run()
      expect(answered.stdout).to.match(/^azure {2}ok .*1 model\n$/)
      expect(provider.last()?.path).to.equal('/openai/models')
      expect(provider.last()?.headers.authorization).to.equal(`Bearer ${entra.issued[0]}`)
      entra.refusal = {
        status: 401,
        body: { error: 'invalid_client', error_description: `AADSTS7000215: ${secret}` },
      }
      const refused = await run()
      expect(refused.code).to.equal(1)
      expect(refused.stdout).to.contain('the token request to Entra failed').and.not.contain(secret)
    } finally {
      if (before === undefined) delete process.env.AZURE_AUTHORITY_HOST
      else process.env.AZURE_AUTHORITY_HOST = before
      entra.close()
    }
  })

  it('checks one provider by its id, and says why it cannot', async () => {
    play(listOf('a'))
    const both = { fast: row(), slow: row({ base_url: 'http://127.0.0.1:9/v1' }), x: { preset: 'xai' } }
    const one = await check(both, ['fast'])
    expect(one.code).to.equal(0)
    expect(one.stdout.split('\n')).to.have.length(2)
    expect((await check(both, ['x'])).stderr).to.equal('x has no key: set XAI_API_KEY.\n')
    expect((await check(both, ['y'])).stderr).to.contain('There is no provider y.')
  })
})
