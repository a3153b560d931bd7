import Anthropic from '@anthropic-ai/sdk'
import { expect } from 'chai'
import { dump } from 'js-yaml'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import { type ScriptedVertex, startScriptedVertex, vertexRow } from '../support/scripted-vertex.ts'
import { UNLIMITED, withSettings } from '../support/settings.ts'

const PARENT = '/v1/projects/rail/locations/europe-west4/publishers'
const GEMINI = 'vertex:gemini-3.5-flash'
const CLAUDE = 'vertex/claude-sonnet-4-5@20250929'
const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const PARAMETERS = { type: 'object', properties: { track: { type: 'number' } }, required: ['track'] }
const TOOL = { type: 'function' as const, function: { name: 'signal', parameters: PARAMETERS } }

const user = (content: string) => ({ role: 'user' as const, content })

const fragment = (parts: readonly object[], more: object = {}, usageMetadata?: object) => ({
  candidates: [{ content: { role: 'model', parts }, ...more }],
  responseId: 'r1',
  modelVersion: 'gemini-3.5-flash',
  ...(usageMetadata && { usageMetadata }),
})
const USAGE = {
  ...{ promptTokenCount: 100, candidatesTokenCount: 7, thoughtsTokenCount: 20, totalTokenCount: 127 },
  ...{ cachedContentTokenCount: 60, trafficType: 'ON_DEMAND' },
}
const STOP = { finishReason: 'STOP' }

describe('Vertex AI', () => {
  let vertex: ScriptedVertex
  let gateway: RunningGateway

  before(async () => {
    vertex = await startScriptedVertex()
    const settings = { providers: { vertex: vertexRow(vertex) } }
    gateway = await startGateway(await withSettings(`${dump(settings)}${UNLIMITED}`))
  })
  after(async () => {
    await gateway?.stop()
    vertex?.close()
  })

  const last = () => vertex.requests.at(-1) ?? expect.fail('no request')
  const claude = () => new Anthropic({ baseURL: gateway.url, apiKey: gateway.demoKey, maxRetries: 0 })

  describe('with Gemini', () => {
    it('sends generateContent with a token, and reports usage with cached and thought tokens', async () => {
      vertex.play({ body: fragment([{ text: 'Track 9.' }], STOP, USAGE) })
      const reply = await gateway.openai().chat.completions.create({
        model: GEMINI,
        messages: [user('Which track?')],
        metadata: { team: 'rail-ops', Owner: 'Not a label' },
      })
      expect(last().path).to.equal(`${PARENT}/google/models/gemini-3.5-flash:generateContent`)
      expect(last().authorization).to.match(/^Bearer ya29\.token-\d+$/)
      expect(last().body.labels).to.deep.equal({ team: 'rail-ops' })
      expect(reply.choices[0]?.message.content).to.equal('Track 9.')
      expect(reply.usage).to.deep.include({ prompt_tokens: 100, completion_tokens: 27 })
      expect(reply.usage?.prompt_tokens_details?.cached_tokens).to.equal(60)
      expect(reply.usage?.completion_tokens_details?.reasoning_tokens).to.equal(20)
    })

    it('streams by streamGenerateContent as SSE', async () => {
      const texts = ['Track', ' 9', '.']
      const records = texts.map((text) => fragment([{ text }]))
      vertex.play({ records: [...records, fragment([], STOP, USAGE)] })
      const stream = await gateway.openai().chat.completions.create({
        ...{ model: GEMINI, messages: [user('Which track?')], stream: true },
        stream_options: { include_usage: true },
      })
      let text = ''
      let cached: number | undefined
      for await (const chunk of stream) {
        text += chunk.choices[0]?.delta.content ?? ''
        cached = chunk.usage?.prompt_tokens_details?.cached_tokens ?? cached
      }
      expect(last().path).to.equal(`${PARENT}/google/models/gemini-3.5-flash:streamGenerateContent?alt=sse`)
      expect(text).to.equal('Track 9.')
      expect(cached).to.equal(60)
    })

    it('calls tools, and sends ids and thought signatures back', async () => {
      const functionCall = { id: 'fc-1', name: 'signal', args: { track: 9 } }
      vertex.play({ body: fragment([{ functionCall, thoughtSignature: 'c2ln' }], STOP, USAGE) })
      const first = await gateway.openai().chat.completions.create({
        ...{ model: GEMINI, messages: [user('Set it.')], tools: [TOOL] },
      })
      const message = first.choices[0]?.message ?? expect.fail('no message')
      expect(message.tool_calls?.[0]).to.deep.include({ id: 'fc-1', type: 'function' })
      vertex.play({ body: fragment([{ text: 'Done.' }], STOP, USAGE) })
      const messages = [
        user('Set it.'),
        message,
        { role: 'tool' as const, tool_call_id: 'fc-1', content: '{"ok":true}' },
      ]
      await gateway.openai().chat.completions.create({ model: GEMINI, messages, tools: [TOOL] })
      const { contents, tools } = last().body
      expect(tools[0].functionDeclarations[0]).to.deep.include({ name: 'signal' })
      expect(contents[1].parts[0]).to.deep.equal({ functionCall, thoughtSignature: 'c2ln' })
      const functionResponse = { id: 'fc-1', name: 'signal', response: { ok: true } }
      expect(contents[2].parts).to.deep.equal([{ functionResponse }])
    })

    it('sends images and JSON schemas', async () => {
      vertex.play({ body: fragment([{ text: '{"track":9}' }], STOP, USAGE) })
      const image_url = { url: `data:image/png;base64,${PIXEL}` }
      const reply = await gateway.openai().chat.completions.create({
        model: GEMINI,
        messages: [{ role: 'user', content: [{ type: 'image_url', image_url }] }],
        response_format: { type: 'json_schema', json_schema: { name: 'track', schema: PARAMETERS } },
      })
      const { contents, generationConfig } = last().body
      expect(contents[0].parts[0].inlineData).to.deep.equal({ mimeType: 'image/png', data: PIXEL })
      expect(generationConfig.responseMimeType).to.equal('application/json')
      expect(generationConfig.responseJsonSchema.required).to.deep.equal(['track'])
      expect(reply.choices[0]?.message.content).to.equal('{"track":9}')
    })

    it('answers the official client of Anthropic, which may count tokens', async () => {
      vertex.play({ body: fragment([{ text: 'Track 9.' }], STOP, USAGE) })
      const question = { model: GEMINI, messages: [user('Which track?')] }
      const message = await claude().messages.create({ ...question, max_tokens: 100 })
      expect(message.content[0]).to.deep.include({ type: 'text', text: 'Track 9.' })
      expect(message.usage.cache_read_input_tokens).to.equal(60)
      vertex.play({ body: { totalTokens: 31, totalBillableCharacters: 90 } })
      expect((await claude().messages.countTokens(question)).input_tokens).to.equal(31)
      expect(last().path).to.equal(`${PARENT}/google/models/gemini-3.5-flash:countTokens`)
      expect(last().body).to.have.keys('contents')
    })

    it('reports a blocked prompt and Model Armor as filtered', async () => {
      for (const body of [
        { promptFeedback: { blockReason: 'SAFETY' }, usageMetadata: USAGE, responseId: 'r1' },
        fragment([], { finishReason: 'MODEL_ARMOR' }, USAGE),
      ]) {
        vertex.play({ body })
        const { choices } = await gateway.openai().chat.completions.create({
          ...{ model: GEMINI, messages: [user('Which track?')] },
        })
        expect(choices[0]?.finish_reason).to.equal('content_filter')
      }
    })
  })

  describe('with Claude', () => {
    const USED = {
      ...{ input_tokens: 10, output_tokens: 30 },
      ...{ cache_read_input_tokens: 900, cache_creation_input_tokens: 90 },
    }
    const THINKING = { type: 'thinking', thinking: 'Hm.', signature: 'c2lnbmF0dXJl' }
    const messageOf = (content: readonly object[], more: object = {}) => ({
      ...{ id: 'msg_vrtx_1', type: 'message', role: 'assistant', model: 'claude-sonnet-4-5-20250929' },
      ...{ content, stop_reason: 'end_turn', stop_sequence: null, usage: USED, ...more },
    })

    it('sends rawPredict with the version in the body, and keeps caching, thinking and betas', async () => {
      vertex.play({ body: messageOf([THINKING, { type: 'text', text: 'Track 9.' }]) })
      const cache_control = { type: 'ephemeral' as const }
      const message = await claude().messages.create(
        {
          ...{ model: CLAUDE, max_tokens: 4000, messages: [user('Which track?')] },
          system: [{ type: 'text', text: 'You set signals.', cache_control }],
          thinking: { type: 'enabled', budget_tokens: 2000 },
        },
        { headers: { 'anthropic-beta': 'interleaved-thinking-2025-05-14' } },
      )
      const { path, body, betas, version } = last()
      expect(path).to.equal(`${PARENT}/anthropic/models/claude-sonnet-4-5@20250929:rawPredict`)
      expect(body).to.include({ anthropic_version: 'vertex-2023-10-16', max_tokens: 4000 })
      expect(body).not.to.have.property('model')
      expect(body.system[0].cache_control).to.deep.equal(cache_control)
      expect(body.thinking).to.deep.equal({ type: 'enabled', budget_tokens: 2000 })
      expect({ betas, version }).to.deep.equal({
        betas: 'interleaved-thinking-2025-05-14',
        version: undefined,
      })
      expect(message.content).to.deep.equal([THINKING, { type: 'text', text: 'Track 9.' }])
      expect(message.usage).to.deep.include(USED)
    })

    it('sends signed thinking back', async () => {
      vertex.play({ body: messageOf([{ type: 'text', text: 'Done.' }]) })
      const call = { type: 'tool_use' as const, id: 'toolu_1', name: 'signal', input: { track: 9 } }
      const result = { type: 'tool_result' as const, tool_use_id: 'toolu_1', content: 'ok' }
      await claude().messages.create({
        ...{ model: CLAUDE, max_tokens: 4000, thinking: { type: 'enabled', budget_tokens: 2000 } },
        tools: [{ name: 'signal', input_schema: { type: 'object' } }],
        messages: [
          user('Set it.'),
          { role: 'assistant', content: [THINKING as Anthropic.ThinkingBlockParam, call] },
          { role: 'user', content: [result] },
        ],
      })
      expect(last().body.messages[1].content).to.deep.equal([THINKING, call])
    })

    it('streams by streamRawPredict to the clients of Anthropic and OpenAI', async () => {
      const events = [
        { type: 'vertex_event' },
        { type: 'message_start', message: messageOf([], { stop_reason: null }) },
        { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
        { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Track 9.' } },
        { type: 'content_block_stop', index: 0 },
        { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 30 } },
        { type: 'message_stop' },
      ]
      const records = events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
      vertex.play({ records })
      const question = { model: CLAUDE, max_tokens: 100, messages: [user('Which track?')] }
      const message = await claude().messages.stream(question).finalMessage()
      expect(message.content[0]).to.deep.include({ type: 'text', text: 'Track 9.' })
      expect(message.usage).to.include({ cache_read_input_tokens: 900, output_tokens: 30 })
      expect(last().path).to.match(/\/anthropic\/models\/claude-sonnet-4-5@20250929:streamRawPredict$/)
      expect(last().body.stream).to.equal(true)
      const stream = await gateway.openai().chat.completions.create({ ...question, stream: true })
      let text = ''
      for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? ''
      expect(text).to.equal('Track 9.')
    })

    it('calls tools for the client of OpenAI, and counts cached tokens as input', async () => {
      const call = { type: 'tool_use', id: 'toolu_1', name: 'signal', input: { track: 9 } }
      vertex.play({ body: messageOf([call], { stop_reason: 'tool_use' }) })
      const reply = await gateway.openai().chat.completions.create({
        ...{ model: CLAUDE, messages: [user('Set it.')], tools: [TOOL] },
      })
      expect(reply.choices[0]?.message.tool_calls?.[0]).to.deep.include({
        id: 'toolu_1',
        function: { name: 'signal', arguments: '{"track":9}' },
      })
      expect(reply.usage).to.include({ prompt_tokens: 1000, completion_tokens: 30 })
      expect(reply.usage?.prompt_tokens_details?.cached_tokens).to.equal(900)
    })

    it('counts tokens', async () => {
      vertex.play({ body: { input_tokens: 42 } })
      const counted = await claude().messages.countTokens({ model: CLAUDE, messages: [user('Which track?')] })
      expect(counted.input_tokens).to.equal(42)
      expect(last().path).to.equal(`${PARENT}/anthropic/models/count-tokens:rawPredict`)
      expect(last().body).to.include({
        ...{ model: 'claude-sonnet-4-5@20250929', anthropic_version: 'vertex-2023-10-16' },
      })
    })
  })

  describe('with embeddings', () => {
    const prediction = (...values: number[]) => ({
      embeddings: { values, statistics: { token_count: 4, truncated: false } },
    })

    it('sends several texts in one request', async () => {
      vertex.play({ body: { predictions: [prediction(0.6, 0.8), prediction(0.8, 0.6)] } })
      const { data, usage } = await gateway.openai().embeddings.create({
        ...{ model: 'vertex:text-embedding-005', input: ['Track 9', 'Track 10'], encoding_format: 'float' },
      })
      expect(last().path).to.equal(`${PARENT}/google/models/text-embedding-005:predict`)
      expect(last().body.instances).to.deep.equal([{ content: 'Track 9' }, { content: 'Track 10' }])
      expect(data.map(({ embedding }) => embedding)).to.deep.equal([
        [0.6, 0.8],
        [0.8, 0.6],
      ])
      expect(usage.prompt_tokens).to.equal(8)
    })

    it('sends one text per request to gemini-embedding, with the length of the vectors', async () => {
      vertex.play({ body: { predictions: [prediction(3, 4)] } })
      const before = vertex.requests.length
      const { data, usage } = await gateway.openai().embeddings.create({
        ...{ model: 'vertex:gemini-embedding-001', input: ['Track 9', 'Track 10'], encoding_format: 'float' },
        dimensions: 2,
      })
      expect(vertex.requests.length - before).to.equal(2)
      expect(last().body).to.deep.equal({
        instances: [{ content: 'Track 10' }],
        parameters: { autoTruncate: false, outputDimensionality: 2 },
      })
      expect(data.map(({ embedding }) => embedding)).to.deep.equal([
        [0.6, 0.8],
        [0.6, 0.8],
      ])
      expect(usage.prompt_tokens).to.equal(8)
    })
  })

  it('sends one text per request to Gemini Embedding 2, by embedContent', async () => {
    vertex.play({ body: { embedding: { values: [3, 4] }, usageMetadata: { promptTokenCount: 5 } } })
    const { data, usage } = await gateway.openai().embeddings.create({
      ...{ model: 'vertex:gemini-embedding-2-preview', input: ['Track 9', 'Track 10'], dimensions: 2 },
      encoding_format: 'float',
    })
    expect(last().path).to.equal(`${PARENT}/google/models/gemini-embedding-2-preview:embedContent`)
    expect(last().body).to.deep.equal({
      content: { parts: [{ text: 'Track 10' }] },
      embedContentConfig: { autoTruncate: false, outputDimensionality: 2 },
    })
    expect(data.map(({ embedding }) => embedding)).to.deep.equal([
      [0.6, 0.8],
      [0.6, 0.8],
    ])
    expect(usage.prompt_tokens).to.equal(10)
  })

  describe('errors', () => {
    const rpc = (code: number, status: string, message: string, ...details: object[]) => ({
      status: code,
      body: { error: { code, status, message, details } },
    })
    const reasonOf = (reason: string) => ({ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason })
    const cases = [
      {
        title: 'a missing permission',
        script: rpc(403, 'PERMISSION_DENIED', 'Permission denied.', reasonOf('IAM_PERMISSION_DENIED')),
        expected: [502, 'provider_authentication_error'],
      },
      {
        title: 'an exhausted quota per minute',
        script: rpc(429, 'RESOURCE_EXHAUSTED', 'Resource exhausted. Please try again later.'),
        expected: [429, 'rate_limit_exceeded'],
      },
      {
        title: 'a model that does not exist or is not allowed',
        script: rpc(404, 'NOT_FOUND', 'Publisher Model was not found or your project does not have access.'),
        expected: [404, 'model_not_found'],
      },
      {
        title: 'a model that the location does not have',
        script: rpc(400, 'FAILED_PRECONDITION', 'Publisher Model x is not servable in region europe-west4.'),
        expected: [404, 'model_not_found'],
      },
      {
        title: 'an invalid request',
        script: rpc(400, 'INVALID_ARGUMENT', "Invalid value at 'contents[0]' (x)."),
        expected: [400, 'provider_refused'],
      },
      {
        title: 'an overloaded service',
        script: rpc(503, 'UNAVAILABLE', 'Overloaded.'),
        expected: [503, 'server_is_overloaded'],
      },
    ]
    for (const model of [GEMINI, CLAUDE])
      for (const { title, script, expected } of cases)
        it(`maps ${title}: ${model}`, async () => {
          vertex.play(script)
          const { status, body } = await gateway.call('POST', '/v1/chat/completions', {
            ...{ model, messages: [user('Which track?')], max_tokens: 10 },
          })
          expect([status, body.error.code], JSON.stringify(body)).to.deep.equal(expected)
        })

    it("maps Claude's own errors", async () => {
      const error = { type: 'invalid_request_error', message: 'prompt is too long: 9 tokens > 8 maximum' }
      vertex.play({ status: 400, body: { type: 'error', error } })
      const { body } = await gateway.call('POST', '/v1/chat/completions', {
        ...{ model: CLAUDE, messages: [user('Which track?')], max_tokens: 10 },
      })
      expect(body.error.code).to.equal('context_length_exceeded')
    })
  })
})
