import { expect } from 'chai'
import { anthropic } from '../../../../providers/anthropic/adapter.ts'
import { bodyOf, targetOf, user, write } from './target.ts'

const tool = { type: 'function', function: { name: 'ring' } }

describe('building a request to Anthropic', () => {
  it('sets path and headers', () => {
    const { path, headers } = write({})
    expect(path).to.equal('/v1/messages')
    expect(headers).to.deep.equal({
      'content-type': 'application/json',
      accept: 'application/json',
      'anthropic-version': '2023-06-01',
    })
  })

  it('sets stream only if the request streams', () => {
    const options = { stream_options: { include_usage: true } }
    expect(write({ stream: true }).headers.accept).to.equal('text/event-stream')
    expect(bodyOf({ stream: true, ...options })).to.have.property('stream', true)
    expect(bodyOf({ stream: true, ...options })).not.to.have.property('stream_options')
    expect(bodyOf({ stream: false })).not.to.have.property('stream')
  })

  it('sends no unknown fields', () => {
    const fields = { seed: 1, made_up: 2, n: 1, store: true, metadata: { a: 'b' }, logprobs: false }
    expect(bodyOf({ model: 'auto:cost', ...fields })).to.have.all.keys('model', 'max_tokens', 'messages')
  })

  it('reports omitted fields that affect the reply', () => {
    const { omitted } = write({
      logit_bias: { 50256: -100 },
      seed: 7,
      presence_penalty: 1,
      frequency_penalty: 1,
      top_logprobs: 2,
      verbosity: 'low',
      made_up: true,
    })
    expect(omitted).to.deep.equal([
      ...[
        'logit_bias',
        'seed',
        'presence_penalty',
        'frequency_penalty',
        'top_logprobs',
        'verbosity',
        'made_up',
      ],
    ])
  })

  it('does not report default values, nor fields that do not affect the reply', () => {
    const neutral = { n: 1, logprobs: false, presence_penalty: 0, seed: null, reasoning_effort: 'none' }
    const unrelated = {
      user: '{}',
      store: true,
      metadata: {},
      service_tier: 'default',
      prompt_cache_key: 'x',
    }
    expect(write({ ...neutral, ...unrelated, stream: true, stream_options: {} }).omitted).to.deep.equal([])
  })

  it('does not modify the request', () => {
    const request = Object.freeze({ messages: [user], temperature: 2, stop: ['a', ''], tools: [tool] })
    const copy = structuredClone(request)
    anthropic.buildRequest(request, targetOf('claude-opus-5-5'))
    expect(request).to.deep.equal(copy)
  })

  describe('max_tokens', () => {
    it('is the maximum in the catalogue if the request has none', () => {
      expect(bodyOf({})).to.include({ max_tokens: 128_000 })
      expect(bodyOf({ max_tokens: null }, 'claude-haiku-4-5')).to.include({ max_tokens: 64_000 })
      expect(bodyOf({}, 'claude-next')).to.include({ max_tokens: 4096 })
    })

    it('is that of the request, which prefers max_completion_tokens', () => {
      expect(bodyOf({ max_tokens: 20 })).to.include({ max_tokens: 20 })
      expect(bodyOf({ max_tokens: 20, max_completion_tokens: 30 })).to.include({ max_tokens: 30 })
    })

    it('is limited to the maximum of the model', () => {
      expect(bodyOf({ max_tokens: 1_000_000 })).to.include({ max_tokens: 128_000 })
      expect(bodyOf({ max_tokens: 1_000_000 }, 'claude-next')).to.include({ max_tokens: 1_000_000 })
    })
  })

  describe('sampling', () => {
    it('limits the temperature to 1 for claude-sonnet-4-5', () => {
      expect(bodyOf({ temperature: 1.7 }, 'claude-sonnet-4-5')).to.include({ temperature: 1 })
      expect(bodyOf({ temperature: 0 }, 'claude-sonnet-4-5')).to.include({ temperature: 0 })
    })

    for (const model of ['claude-opus-5-5', 'claude-opus-4-7', 'claude-next']) {
      it(`omits and reports temperature and top_p for ${model}`, () => {
        const fields = { temperature: 1.7, top_p: 0.5 }
        expect(bodyOf(fields, model)).not.to.have.any.keys('temperature', 'top_p')
        expect(write(fields, model).omitted).to.deep.equal(['temperature', 'top_p'])
      })
    }

    it('sends only the temperature if both are set', () => {
      const call = write({ temperature: 0.5, top_p: 0.9 })
      expect(JSON.parse(String(call.body)))
        .to.include({ temperature: 0.5 })
        .and.not.to.have.property('top_p')
      expect(call.omitted).to.deep.equal(['top_p'])
    })

    it('sends top_p without a temperature', () => {
      expect(bodyOf({ top_p: 0.9 })).to.include({ top_p: 0.9 })
    })
  })

  it('drops blank stop sequences', () => {
    expect(bodyOf({ stop: 'END' }).stop_sequences).to.deep.equal(['END'])
    expect(bodyOf({ stop: ['', '\n', 'END'] }).stop_sequences).to.deep.equal(['END'])
    expect(bodyOf({ stop: [' '] })).not.to.have.property('stop_sequences')
    expect(bodyOf({ stop: null })).not.to.have.property('stop_sequences')
  })

  it('sends the user only if it is an opaque id', () => {
    expect(bodyOf({ user: 'u-1' }).metadata).to.deep.equal({ user_id: 'u-1' })
    for (const id of ['', '{"device":"x"}', 'x'.repeat(257)]) {
      expect(bodyOf({ user: id })).not.to.have.property('metadata')
    }
  })

  it('sends the service tiers of Anthropic only', () => {
    expect(bodyOf({ service_tier: 'auto' })).to.include({ service_tier: 'auto' })
    expect(bodyOf({ service_tier: 'standard_only' })).to.include({ service_tier: 'standard_only' })
    expect(bodyOf({ service_tier: 'flex' })).not.to.have.property('service_tier')
  })

  it('passes on the cache control of the request', () => {
    const cache_control = { type: 'ephemeral', ttl: '1h' }
    expect(bodyOf({ cache_control }).cache_control).to.deep.equal(cache_control)
    expect(bodyOf({ cache_control: 'yes' })).not.to.have.property('cache_control')
  })
})
