import { expect } from 'chai'
import type { Sandbox } from '../../providers/sandbox/server.ts'
import { decodeVector } from '../../providers/shared/vectors.ts'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import { useSandboxGateway } from '../support/sandbox-gateway.ts'
import { startScriptedProvider } from '../support/scripted-provider.ts'
import { UNLIMITED, withSettings } from '../support/settings.ts'

describe('POST /v1/embeddings', () => {
  let sandbox: Sandbox
  let gateway: RunningGateway

  useSandboxGateway(1, (...started) => {
    ;[sandbox, gateway] = started
  })

  const embed = (body: object, headers?: Record<string, string>) =>
    gateway.call('POST', '/v1/embeddings', body, headers)
  const sent = () => sandbox.requests.at(-1)

  it("answers OpenAI's SDK, which asks for base64", async () => {
    const create = { model: 'text-embedding-3-small', input: 'Track 9' }
    const answer = await gateway.openai().embeddings.create(create)
    expect(sent()?.path).to.equal('/openai/v1/embeddings')
    expect(sent()?.body).to.deep.equal({ ...create, input: ['Track 9'], encoding_format: 'base64' })
    const floats = await gateway.openai().embeddings.create({ ...create, encoding_format: 'float' })
    expect(answer.data[0]?.embedding).to.have.length(1536).and.deep.equal(floats.data[0]?.embedding)
    expect(answer).to.deep.include({
      object: 'list',
      model: create.model,
      usage: { prompt_tokens: 2, total_tokens: 2 },
    })
  })

  it('sends what the caller asks for in the form of each provider', async () => {
    const input = ['Track 9', 'Track 10']
    const cases = [
      {
        body: { model: 'text-embedding-3-large', input, dimensions: 256, user: 'u-1', x_custom: 1 },
        received: { model: 'text-embedding-3-large', input, dimensions: 256, user: 'u-1', x_custom: 1 },
        path: '/openai/v1/embeddings',
      },
      {
        body: { model: 'codestral-embed', input, dimensions: 256, user: 'u-1' },
        received: { model: 'codestral-embed-2505', input, output_dimension: 256 },
        path: '/mistral/v1/embeddings',
      },
      {
        body: { model: 'gemini-embedding-001', input, dimensions: 256, user: 'u-1' },
        received: {
          requests: input.map((text) => ({
            model: 'models/gemini-embedding-001',
            content: { parts: [{ text }] },
            outputDimensionality: 256,
          })),
        },
        path: '/gemini/v1beta/models/gemini-embedding-001:batchEmbedContents',
      },
    ]
    for (const { body, received, path } of cases) {
      const { status, body: answer } = await embed({ ...body, metadata: { team: 'a' } })
      expect(status, JSON.stringify(answer)).to.equal(200)
      expect(sent()).to.deep.include({ path, body: received })
      expect(answer.data.map(({ index }: { index: number }) => index)).to.deep.equal([0, 1])
      for (const { embedding } of answer.data) expect(embedding).to.have.length(256)
      expect(answer.data[0].embedding).not.to.deep.equal(answer.data[1].embedding)
      expect(answer.metadata).to.include({ team: 'a' })
      const base64 = await embed({ ...body, encoding_format: 'base64' })
      const [decoded = 0] = decodeVector(base64.body.data[0].embedding)
      expect(decoded).to.be.closeTo(answer.data[0].embedding[0], 1e-6)
    }
  })

  it('leaves out dimensions that a model has anyway, and refuses those that it does not have', async () => {
    const input = 'Track 9'
    expect((await embed({ model: 'mistral-embed', input, dimensions: 1024 })).status).to.equal(200)
    expect(sent()?.body).to.deep.equal({ model: 'mistral-embed', input: [input] })
    const { status, body } = await embed({ model: 'mistral-embed', input, dimensions: 512 })
    expect(status).to.equal(400)
    expect(body.error).to.include({ param: 'dimensions', code: 'unsupported_parameter' })
    expect(body.error.message).to.equal('dimensions: mistral-embed supports only 1024. Change or omit it.')
  })

  it('passes token ids to OpenAI, and refuses them for models that read texts', async () => {
    for (const [input, received] of [
      [[11, 12], [[11, 12]]],
      [
        [[11, 12], [13]],
        [[11, 12], [13]],
      ],
    ]) {
      const { status, body } = await embed({ model: 'text-embedding-3-small', input })
      expect(status).to.equal(200)
      expect(sent()?.body).to.have.deep.property('input', received)
      expect(body.data).to.have.length(received?.length ?? 0)
      for (const model of ['mistral-embed', 'gemini-embedding-001']) {
        const refused = await embed({ model, input })
        expect(refused.status).to.equal(400)
        expect(refused.body.error).to.include({ param: 'input', code: 'unsupported_parameter' })
      }
    }
  })

  it('chooses a model only where dimensions agree', async () => {
    const missing = await embed({ input: 'Track 9' })
    expect(missing.status).to.equal(400)
    expect(missing.body.error).to.include({ param: 'dimensions', code: 'missing_parameter' })
    for (const [dimensions, unfit] of [
      [1024, ['text-embedding-ada-002']],
      [1536, ['mistral-embed']],
      [3072, ['mistral-embed', 'text-embedding-ada-002', 'text-embedding-3-small']],
    ] as const) {
      for (const model of ['auto:cost', 'auto:quality', 'auto:fast']) {
        const { status, body } = await embed({ model, input: 'Track 9', dimensions })
        expect(status, JSON.stringify(body)).to.equal(200)
        expect(unfit).not.to.include(body.model)
        expect(body.data[0].embedding).to.have.length(dimensions)
        expect(body.signalbox.warnings[0].message).to.contain('Vectors of different models')
      }
    }
    const none = await embed({ input: 'Track 9', dimensions: 100_000 })
    expect(none.status).to.equal(400)
    expect(none.body.error.message).to.equal('No available model supports: dimensions.')
  })

  it('fails over to another model with the same dimensions', async () => {
    const input = 'Track 9 [[sandbox:status=503 model=text-embedding-3-small]]'
    const { status, body } = await embed({ model: 'auto:cost', input, dimensions: 1536 })
    expect(status, JSON.stringify(body)).to.equal(200)
    expect(body.data[0].embedding).to.have.length(1536)
  })

  it('refuses models and fields of other endpoints', async () => {
    const chatModel = await embed({ model: 'gpt-4o', input: 'Track 9' })
    expect(chatModel.status).to.equal(400)
    expect(chatModel.body.error.message).to.match(/^gpt-4o is a model for chat/)
    const messages = [{ role: 'user', content: 'Track 9' }]
    const chat = { model: 'text-embedding-3-small', messages }
    const embeddingModel = await gateway.call('POST', '/v1/chat/completions', chat)
    expect(embeddingModel.status).to.equal(400)
    expect(embeddingModel.body.error).to.include({ param: 'model', code: 'unsupported_parameter' })
    const unknown = await embed({ model: 'anthropic:claude-embed', input: 'Track 9' })
    expect(unknown.status).to.equal(400)
    expect(unknown.body.error.message).to.contain('Provider anthropic has no embeddings')
    for (const field of [{ stream: true }, { messages }, { tools: [] }, { max_tokens: 5 }]) {
      const { status, body } = await embed({ model: 'mistral-embed', input: 'Track 9', ...field })
      expect(status, JSON.stringify(field)).to.equal(400)
      expect(body.error.param).to.equal(Object.keys(field)[0])
    }
    for (const input of ['', [], [''], [[]], [1.5], ['a', 1], null, { a: 1 }, [-1]]) {
      const { status, body } = await embed({ model: 'mistral-embed', input })
      expect(status, JSON.stringify(input)).to.equal(400)
      expect(body.error.param, JSON.stringify(body)).to.match(/^input/)
    }
  })

  it('answers with the fields and headers of the gateway, and lists the models', async () => {
    const { body, headers } = await embed({ model: 'mistral:mistral-embed', input: 'Track 9' })
    expect(headers.get('x-provider')).to.equal('mistral')
    expect(headers.get('x-model')).to.equal('mistral-embed')
    expect(body).to.include({ provider: 'mistral', x_request_id: headers.get('x-request-id') })
    expect(body.signalbox).to.include({ cost_usd: 2e-7, provider: 'mistral' })
    const model = await gateway.call('GET', '/v1/models/mistral-embed')
    expect(model.body).to.deep.include({ operation: 'embeddings', dimensions: { default: 1024 } })
  })

  it('refuses a reply without a vector for each text', async () => {
    const { status, body } = await embed({ model: 'mistral-embed', input: 'Track 9 [[sandbox:malformed]]' })
    expect(status).to.equal(502)
    expect(body.error.code).to.equal('provider_error')
  })
})

describe('POST /v1/embeddings with a compatible provider', () => {
  it('converts vectors, sorts them, and estimates what was not counted', async () => {
    const provider = await startScriptedProvider()
    const row = { format: 'openai', base_url: provider.url, auth: 'none' }
    const settings = await withSettings(`${UNLIMITED}providers: { local: ${JSON.stringify(row)} }\n`)
    const gateway = await startGateway(settings)
    const embed = (body: object) => gateway.call('POST', '/v1/embeddings', { model: 'local:bge', ...body })
    const vector = (index: number, embedding: unknown) => ({ object: 'embedding', index, embedding })
    try {
      provider.play({ body: { data: [vector(1, [0.5, 1]), vector(0, [0.25, 2])] } })
      const input = ['Track 9', 'Track 10']
      const floats = await embed({ input, input_type: 'query' })
      expect(provider.last()?.body).to.deep.equal({ model: 'bge', input, input_type: 'query' })
      expect(floats.body.data).to.deep.equal([vector(0, [0.25, 2]), vector(1, [0.5, 1])])
      expect(floats.body).to.deep.include({ model: 'bge', usage: { prompt_tokens: 7, total_tokens: 7 } })
      expect(floats.body.signalbox.cost_usd).to.equal(null)
      const exact = '[ 0.10000000000000000555, -1e-7,2.50 ]'
      const data = JSON.stringify([vector(1, [1]), vector(0, 'exact')]).replace('"exact"', exact)
      provider.play({ body: `{"data":${data}}` })
      const response = await fetch(`${gateway.url}/v1/embeddings`, {
        method: 'POST',
        headers: { authorization: `Bearer ${gateway.demoKey}` },
        body: JSON.stringify({ model: 'local:bge', input }),
      })
      expect(await response.text()).to.contain(
        `"embedding":${exact}},{"object":"embedding","index":1,"embedding":[1]}]`,
      )
      provider.play({ body: { data: [vector(1, [0.5, 1]), vector(0, [0.25, 2])] } })
      const base64 = await embed({ input, encoding_format: 'base64' })
      expect(base64.body.data.map(({ embedding }: { embedding: string }) => embedding)).to.deep.equal([
        'AACAPgAAAEA=',
        'AAAAPwAAgD8=',
      ])
      for (const data of [[], [vector(0, [1])], [vector(0, [1]), vector(1, null)], undefined]) {
        provider.play({ body: { data } })
        const { status, body } = await embed({ input })
        expect(status).to.equal(502)
        expect(body.error.message).to.equal('The provider did not return 2 vectors.')
      }
    } finally {
      await gateway.stop()
      provider.close()
    }
  })
})
