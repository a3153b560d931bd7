import { expect } from 'chai'
import { GatewayError } from '../../../../core/contract/index.ts'
import { parseRequestedModel } from '../../../../plugins/routing/requested-model.ts'

const providers = new Set(['openai', 'acme'])
const parse = (model?: string) => parseRequestedModel(model, { providers })

describe('parsing the model of a request', () => {
  for (const [model, mode] of [
    [undefined, 'balance'],
    ['auto', 'balance'],
    ['auto:balance', 'balance'],
    ['auto:balanced', 'balance'],
    ['auto:cost', 'cost'],
    ['auto:quality', 'quality'],
    ['auto:fast', 'latency'],
    ['auto:latency', 'latency'],
    ['auto:speed', 'latency'],
    ['auto:FAST', 'latency'],
  ] as const) {
    it(`reads ${model ?? 'a missing model'} as the mode ${mode}`, () => {
      expect(parse(model)).to.deep.equal({ type: 'auto', mode })
    })
  }

  for (const [model, expected] of [
    ['gpt-4o', { model: 'gpt-4o' }],
    ['openai:gpt-4o', { model: 'gpt-4o', provider: 'openai' }],
    ['acme:loco:v2', { model: 'loco:v2', provider: 'acme' }],
    ['ft:gpt-4o:us:7', { model: 'ft:gpt-4o:us:7' }],
    ['openai:ft:gpt-4o:us:7', { model: 'ft:gpt-4o:us:7', provider: 'openai' }],
    ['gpt-4o:quality', { model: 'gpt-4o:quality' }],
    ['OpenAI:gpt-4o', { model: 'gpt-4o', provider: 'openai' }],
    ['openai/gpt-4o', { model: 'gpt-4o', provider: 'openai' }],
    ['google/gemini-3.8-flash', { model: 'gemini-3.8-flash', provider: 'gemini' }],
    ['models/gemini-3.8-flash', { model: 'gemini-3.8-flash' }],
    ['nobody/gpt-4o', { model: 'nobody/gpt-4o' }],
    ['openai/', { model: 'openai/' }],
    ['openai:', { model: 'openai:' }],
    [':gpt-4o', { model: ':gpt-4o' }],
    ['automatic', { model: 'automatic' }],
  ] as const) {
    const meaning = 'provider' in expected ? `${expected.model} of ${expected.provider}` : 'a model name'
    it(`reads ${model} as ${meaning}`, () => {
      expect(parse(model)).to.deep.equal({ type: 'fixed', ...expected })
    })
  }

  for (const model of ['auto:', 'auto:cheap', 'auto:gpt-4o', 'auto:constructor']) {
    it(`returns 404 for ${model}`, () => {
      expect(() => parse(model))
        .to.throw(GatewayError, 'auto:balance')
        .that.includes({ code: 'model_not_found', status: 404 })
    })
  }
})
