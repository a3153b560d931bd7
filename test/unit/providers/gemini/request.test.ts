import { expect } from 'chai'
import type { ChatRequest } from '../../../../core/contract/chat.ts'
import { argon, bodyOf, callOf, errorOf, old, request, target } from './calls.ts'

describe('building a request to Gemini', () => {
  it('sets the model in the path, and the key in a header', () => {
    const call = callOf({ model: 'auto:cost' })
    expect(call.path).to.equal('/v1beta/models/gemini-4-argon:generateContent')
    expect(call.headers).to.deep.equal({
      'content-type': 'application/json',
      accept: 'application/json',
    })
    expect(JSON.parse(String(call.body))).to.deep.equal({
      contents: [{ role: 'user', parts: [{ text: 'Which track?' }] }],
      generationConfig: {},
    })
  })

  it('requests a stream by the path', () => {
    const call = callOf({ stream: true, stream_options: { include_usage: true } })
    expect(call.path).to.equal('/v1beta/models/gemini-4-argon:streamGenerateContent?alt=sse')
    expect(call.headers.accept).to.equal('text/event-stream')
    expect(JSON.parse(String(call.body))).to.have.all.keys('contents', 'generationConfig')
  })

  it('encodes the model name', () => {
    expect(callOf({}, target('tuned/a:b?c')).path).to.equal(
      '/v1beta/models/tuned%2Fa%3Ab%3Fc:generateContent',
    )
  })

  it('puts sampling parameters and limits into generationConfig', () => {
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

  it('keeps a temperature of 0 and a list of stop sequences, and ignores null', () => {
    const { generationConfig } = bodyOf({ temperature: 0, stop: ['a', 'b'], top_p: null, seed: null })
    expect(generationConfig).to.deep.equal({ temperature: 0, stopSequences: ['a', 'b'] })
  })

  it('prefers max_completion_tokens', () => {
    const { generationConfig } = bodyOf({ max_tokens: 1, max_completion_tokens: 2 })
    expect(generationConfig).to.deep.equal({ maxOutputTokens: 2 })
  })

  it('limits the output to the maximum of the model', () => {
    expect(bodyOf({ max_tokens: 100_000 }).generationConfig).to.deep.equal({ maxOutputTokens: 65_536 })
    const unknown = { provider: 'gemini', model: 'gemini-9' }
    expect(bodyOf({ max_tokens: 100_000 }, unknown).generationConfig).to.deep.equal({
      maxOutputTokens: 100_000,
    })
  })

  it('sends no unknown fields, and reports the omitted ones', () => {
    const call = callOf({
      logit_bias: { 5: 1 },
      logprobs: true,
      top_logprobs: 2,
      n: 2,
      verbosity: 'low',
      made_up: 1,
    })
    expect(JSON.parse(String(call.body))).to.have.all.keys('contents', 'generationConfig')
    expect(call.omitted).to.have.members([
      'logit_bias',
      'logprobs',
      'top_logprobs',
      'n',
      'verbosity',
      'made_up',
    ])
  })

  it('does not report fields that do not affect the reply', () => {
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

  it('does not report fields that are sent under other names', () => {
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

  it('reports that parallel calls cannot be disabled', () => {
    const tools = [{ type: 'function', function: { name: 'ring' } }]
    expect(callOf({ tools, parallel_tool_calls: false }).omitted).to.deep.equal(['parallel_tool_calls'])
    expect(callOf({ tools, parallel_tool_calls: true }).omitted).to.deep.equal([])
  })

  it('omits and reports penalties for 2.5, which rejects them', () => {
    const call = callOf({ presence_penalty: 1, frequency_penalty: 1, temperature: 1 }, old)
    expect(JSON.parse(String(call.body)).generationConfig).to.deep.equal({ temperature: 1 })
    expect(call.omitted).to.deep.equal(['presence_penalty', 'frequency_penalty'])
  })

  it('omits sampling parameters for models without sampling in the catalogue', () => {
    const call = callOf({ temperature: 1, top_p: 1, seed: 1 }, target('gemini-9', { sampling: false }))
    expect(JSON.parse(String(call.body)).generationConfig).to.deep.equal({ seed: 1 })
    expect(call.omitted).to.deep.equal(['temperature', 'top_p'])
  })

  it('does not modify the request', () => {
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
      it(`has the level ${level} for "${effort}", or ${flashLevel} if the model supports minimal`, () => {
        const includeThoughts = effort === 'none' ? {} : { includeThoughts: true }
        expect(thinks(effort)).to.deep.equal({ thinkingLevel: level, ...includeThoughts })
        expect(thinks(effort, flash)).to.deep.equal({ thinkingLevel: flashLevel, ...includeThoughts })
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
      it(`has a budget of ${budget} for "${effort}" on 2.5, and of ${proBudget} on 2.5 Pro`, () => {
        expect(thinks(effort, old))
          .to.include({ thinkingBudget: budget })
          .and.not.to.have.key('thinkingLevel')
        expect(thinks(effort, target('gemini-2.5-pro'))).to.include({ thinkingBudget: proBudget })
      })
    }

    it('is not configured without an effort', () => {
      expect(bodyOf({}).generationConfig).not.to.have.property('thinkingConfig')
    })

    it('is not configured for an unknown effort, which is reported', () => {
      const call = callOf({ reasoning_effort: 'herculean' })
      expect(JSON.parse(String(call.body)).generationConfig).to.deep.equal({})
      expect(call.omitted).to.deep.equal(['reasoning_effort'])
    })

    it('is not configured for Gemma', () => {
      const call = callOf({ reasoning_effort: 'high' }, target('gemma-4'))
      expect(JSON.parse(String(call.body)).generationConfig).to.deep.equal({})
      expect(call.omitted).to.deep.equal(['reasoning_effort'])
    })

    it('infers the rules for an uncatalogued model from its name', () => {
      expect(thinks('none', { provider: 'gemini', model: 'gemini-2.0-x' })).to.have.key('thinkingBudget')
      expect(thinks('none', { provider: 'gemini', model: 'gemini-flash-latest' })).to.deep.equal({
        thinkingLevel: 'LOW',
      })
    })
  })

  describe('the response format', () => {
    it('can be JSON', () => {
      expect(bodyOf({ response_format: { type: 'json_object' } }).generationConfig).to.deep.equal({
        responseMimeType: 'application/json',
      })
    })

    it('can be JSON with a schema', () => {
      const schema = { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] }
      const response_format = { type: 'json_schema', json_schema: { name: 'it', strict: true, schema } }
      expect(bodyOf({ response_format }).generationConfig).to.deep.equal({
        responseMimeType: 'application/json',
        responseJsonSchema: schema,
      })
    })

    it('converts a schema to the supported keywords', () => {
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
          stop: { description: 'dropped next to a reference', $ref: '#/definitions/stop' },
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

    it('cannot be JSON together with tools before Gemini 3', () => {
      const fields = {
        tools: [{ type: 'function', function: { name: 'ring' } }],
        response_format: { type: 'json_object' },
      }
      expect(errorOf(() => bodyOf(fields, old))).to.include({ code: 'unsupported_parameter' })
      expect(bodyOf(fields).generationConfig.responseMimeType).to.equal('application/json')
    })

    it('is rejected if it is unknown', () => {
      const error = errorOf(() => bodyOf({ response_format: { type: 'grammar' } }))
      expect(error).to.include({ code: 'unsupported_parameter' })
      expect(error.details.param).to.equal('response_format')
    })
  })
})
