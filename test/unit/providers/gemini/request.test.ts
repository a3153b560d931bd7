import { expect } from 'chai'
import type { ChatRequest } from '../../../../core/contract/chat.ts'
import { argon, bodyOf, callOf, errorOf, old, request, target } from './calls.ts'

describe('writing a call to Gemini', () => {
  it('names the model in the path, and the key in a header', () => {
    const call = callOf({ model: 'auto:cost' })
    expect(call.path).to.equal('/v1beta/models/gemini-4-argon:generateContent')
    expect(call.headers).to.deep.equal({
      'content-type': 'application/json',
      accept: 'application/json',
      'x-goog-api-key': 'AIza-key',
    })
    expect(JSON.parse(call.body)).to.deep.equal({
      contents: [{ role: 'user', parts: [{ text: 'Which track?' }] }],
      generationConfig: {},
    })
  })

  it('asks for a stream by the path', () => {
    const call = callOf({ stream: true, stream_options: { include_usage: true } })
    expect(call.path).to.equal('/v1beta/models/gemini-4-argon:streamGenerateContent?alt=sse')
    expect(call.headers.accept).to.equal('text/event-stream')
    expect(JSON.parse(call.body)).to.have.all.keys('contents', 'generationConfig')
  })

  it('encodes the name of the model', () => {
    expect(callOf({}, target('tuned/a:b?c')).path).to.equal(
      '/v1beta/models/tuned%2Fa%3Ab%3Fc:generateContent',
    )
  })

  it('puts sampling and limits into generationConfig', () => {
    const { generationConfig } = bodyOf({
      temperature: 1.7,
      top_p: 0.9,
      max_tokens: 100,
      stop: 'END',
      presence_penalty: 0.5,
      frequency_penalty: -0.5,
      seed: 7,
    })
    expect(generationConfig).to.deep.equal({
      temperature: 1.7,
      topP: 0.9,
      maxOutputTokens: 100,
      stopSequences: ['END'],
      presencePenalty: 0.5,
      frequencyPenalty: -0.5,
      seed: 7,
    })
  })

  it('keeps a temperature of 0 and a list of stops, and passes over null', () => {
    const { generationConfig } = bodyOf({ temperature: 0, stop: ['a', 'b'], top_p: null, seed: null })
    expect(generationConfig).to.deep.equal({ temperature: 0, stopSequences: ['a', 'b'] })
  })

  it('prefers max_completion_tokens', () => {
    const { generationConfig } = bodyOf({ max_tokens: 1, max_completion_tokens: 2 })
    expect(generationConfig).to.deep.equal({ maxOutputTokens: 2 })
  })

  it('asks for no more than the model can write', () => {
    expect(bodyOf({ max_tokens: 100_000 }).generationConfig).to.deep.equal({ maxOutputTokens: 65_536 })
    const unknown = { provider: 'gemini', model: 'gemini-9' }
    expect(bodyOf({ max_tokens: 100_000 }, unknown).generationConfig).to.deep.equal({
      maxOutputTokens: 100_000,
    })
  })

  it('sends nothing that Gemini does not know, and says what is missed', () => {
    const call = callOf({
      logit_bias: { 5: 1 },
      logprobs: true,
      top_logprobs: 2,
      n: 2,
      verbosity: 'low',
      made_up: 1,
    })
    expect(JSON.parse(call.body)).to.have.all.keys('contents', 'generationConfig')
    expect(call.omitted).to.have.members([
      'logit_bias',
      'logprobs',
      'top_logprobs',
      'n',
      'verbosity',
      'made_up',
    ])
  })

  it('says nothing about what the answer does not depend on', () => {
    const call = callOf({
      user: 'u1',
      metadata: { a: 1 },
      store: true,
      stream_options: { include_usage: true },
      n: 1,
      logprobs: false,
      logit_bias: null,
      presence_penalty: 0,
      response_format: { type: 'text' },
    })
    expect(call.omitted).to.deep.equal([])
  })

  it('misses nothing of what it sends', () => {
    const full: Partial<ChatRequest> = {
      temperature: 1,
      top_p: 1,
      max_tokens: 1,
      stop: 'x',
      presence_penalty: 1,
      frequency_penalty: 1,
      seed: 1,
      reasoning_effort: 'low',
      tools: [{ type: 'function', function: { name: 'ring' } }],
      tool_choice: 'required',
      response_format: { type: 'json_object' },
    }
    expect(callOf(full).omitted).to.deep.equal([])
  })

  it('says so when parallel calls cannot be switched off', () => {
    const tools = [{ type: 'function', function: { name: 'ring' } }]
    expect(callOf({ tools, parallel_tool_calls: false }).omitted).to.deep.equal(['parallel_tool_calls'])
    expect(callOf({ tools, parallel_tool_calls: true }).omitted).to.deep.equal([])
  })

  it('leaves penalties out for 2.5, which refuses them', () => {
    const call = callOf({ presence_penalty: 1, frequency_penalty: 1, temperature: 1 }, old)
    expect(JSON.parse(call.body).generationConfig).to.deep.equal({ temperature: 1 })
    expect(call.omitted).to.deep.equal(['presence_penalty', 'frequency_penalty'])
  })

  it('leaves sampling out for a model of which the catalogue says so', () => {
    const call = callOf({ temperature: 1, top_p: 1, seed: 1 }, target('gemini-9', { sampling: false }))
    expect(JSON.parse(call.body).generationConfig).to.deep.equal({ seed: 1 })
    expect(call.omitted).to.deep.equal(['temperature', 'top_p'])
  })

  it('does not change the request', () => {
    const frozen: ChatRequest = Object.freeze({ ...request, temperature: 1, logit_bias: {} })
    const copy = structuredClone(frozen)
    callOf(frozen)
    expect(frozen).to.deep.equal(copy)
  })

  describe('thinking', () => {
    const thinks = (effort: string, to = argon) =>
      bodyOf({ reasoning_effort: effort }, to).generationConfig.thinkingConfig

    const flash = target('gemini-3.6-flash', { quirks: { efforts: ['minimal', 'low', 'medium', 'high'] } })
    for (const [effort, level, flashLevel] of [
      ['none', 'LOW', 'MINIMAL'],
      ['minimal', 'LOW', 'MINIMAL'],
      ['low', 'LOW', 'LOW'],
      ['medium', 'MEDIUM', 'MEDIUM'],
      ['high', 'HIGH', 'HIGH'],
      ['xhigh', 'HIGH', 'HIGH'],
      ['max', 'HIGH', 'HIGH'],
    ] as const) {
      it(`at the effort "${effort}" is ${level}, or ${flashLevel} where there is minimal`, () => {
        const shown = effort === 'none' ? {} : { includeThoughts: true }
        expect(thinks(effort)).to.deep.equal({ thinkingLevel: level, ...shown })
        expect(thinks(effort, flash)).to.deep.equal({ thinkingLevel: flashLevel, ...shown })
      })
    }

    for (const [effort, budget, proBudget] of [
      ['none', 0, 128],
      ['minimal', 1024, 1024],
      ['low', 1024, 1024],
      ['medium', 8192, 8192],
      ['high', 24_576, 24_576],
      ['max', 24_576, 24_576],
    ] as const) {
      it(`at the effort "${effort}" is a budget of ${budget} for 2.5, and of ${proBudget} for 2.5 Pro`, () => {
        expect(thinks(effort, old))
          .to.include({ thinkingBudget: budget })
          .and.not.to.have.key('thinkingLevel')
        expect(thinks(effort, target('gemini-2.5-pro'))).to.include({ thinkingBudget: proBudget })
      })
    }

    it('is left alone when it is not asked for', () => {
      expect(bodyOf({}).generationConfig).not.to.have.property('thinkingConfig')
    })

    it('at an effort that nobody knows is left alone, and that is said', () => {
      const call = callOf({ reasoning_effort: 'herculean' })
      expect(JSON.parse(call.body).generationConfig).to.deep.equal({})
      expect(call.omitted).to.deep.equal(['reasoning_effort'])
    })

    it('cannot be asked of Gemma', () => {
      const call = callOf({ reasoning_effort: 'high' }, target('gemma-4'))
      expect(JSON.parse(call.body).generationConfig).to.deep.equal({})
      expect(call.omitted).to.deep.equal(['reasoning_effort'])
    })

    it('takes a model that is not in the catalogue for one of its name', () => {
      expect(thinks('none', { provider: 'gemini', model: 'gemini-2.0-x' })).to.have.key('thinkingBudget')
      expect(thinks('none', { provider: 'gemini', model: 'gemini-flash-latest' })).to.deep.equal({
        thinkingLevel: 'LOW',
      })
    })
  })

  describe('the form of the answer', () => {
    it('is JSON', () => {
      expect(bodyOf({ response_format: { type: 'json_object' } }).generationConfig).to.deep.equal({
        responseMimeType: 'application/json',
      })
    })

    it('is JSON of a schema', () => {
      const schema = { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] }
      const response_format = { type: 'json_schema', json_schema: { name: 'it', strict: true, schema } }
      expect(bodyOf({ response_format }).generationConfig).to.deep.equal({
        responseMimeType: 'application/json',
        responseJsonSchema: schema,
      })
    })

    it('17: keeps of a schema what Gemini takes, and says the rest in that', () => {
      const schema = {
        $schema: 'https://json-schema.org/draft/2020-12/schema',
        type: 'object',
        additionalProperties: false,
        required: ['kind', 'pattern'],
        properties: {
          kind: { const: 'train' },
          gone: { const: null },
          pattern: {
            type: 'string',
            pattern: '^a',
            minLength: 1,
            description: 'a property named as a keyword',
          },
          note: { type: ['string', 'null'] },
          count: { type: 'integer', exclusiveMinimum: 0, maximum: 9, multipleOf: 3 },
          stop: { description: 'dropped beside a reference', $ref: '#/definitions/stop' },
          both: { allOf: [{ $ref: '#/$defs/way' }] },
          sum: {
            allOf: [
              { properties: { a: { type: 'string' } }, required: ['a'] },
              { properties: { b: { const: 2 } }, required: ['b'] },
            ],
          },
          pick: { oneOf: [{ const: 'x' }, { type: 'number', not: { const: 3 } }] },
          rows: { type: 'array', items: { type: 'string', format: 'date', default: 'x' }, uniqueItems: true },
        },
        definitions: { stop: { type: 'string', enum: ['const', 'pattern'] } },
        $defs: { way: { type: 'boolean' } },
      }
      const response_format = { type: 'json_schema', json_schema: { schema } }
      expect(bodyOf({ response_format }).generationConfig.responseJsonSchema).to.deep.equal({
        type: 'object',
        additionalProperties: false,
        required: ['kind', 'pattern'],
        properties: {
          kind: { type: 'string', enum: ['train'] },
          gone: { type: 'null' },
          pattern: { type: 'string', description: 'a property named as a keyword' },
          note: { type: ['string', 'null'] },
          count: { type: 'integer', minimum: 0, maximum: 9 },
          stop: { $ref: '#/$defs/stop' },
          both: { $ref: '#/$defs/way' },
          sum: {
            properties: { a: { type: 'string' }, b: { type: 'number', enum: [2] } },
            required: ['a', 'b'],
          },
          pick: { oneOf: [{ type: 'string', enum: ['x'] }, { type: 'number' }] },
          rows: { type: 'array', items: { type: 'string', format: 'date' } },
        },
        $defs: { way: { type: 'boolean' }, stop: { type: 'string', enum: ['const', 'pattern'] } },
      })
    })

    it('cannot be JSON beside tools before Gemini 3', () => {
      const fields = {
        tools: [{ type: 'function', function: { name: 'ring' } }],
        response_format: { type: 'json_object' },
      }
      expect(errorOf(() => bodyOf(fields, old))).to.include({ code: 'unsupported_parameter' })
      expect(bodyOf(fields).generationConfig.responseMimeType).to.equal('application/json')
    })

    it('is refused where Gemini does not have it', () => {
      const error = errorOf(() => bodyOf({ response_format: { type: 'grammar' } }))
      expect(error).to.include({ code: 'unsupported_parameter' })
      expect(error.details.param).to.equal('response_format')
    })
  })
})
