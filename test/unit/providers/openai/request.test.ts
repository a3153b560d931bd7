import { expect } from 'chai'
import type OpenAI from 'openai'
import type { ChatRequest } from '../../../../core/contract/chat.ts'
import type { Model, Target } from '../../../../core/contract/provider.ts'
import { openai } from '../../../../providers/openai/adapter.ts'

const plain: Target = { provider: 'openai', model: 'gpt-4o', entry: entry({}) }
const reasoning: Target = {
  provider: 'openai',
  model: 'o3',
  entry: entry({ reasoning: true, sampling: false }),
}

const request = {
  model: 'auto:cost',
  messages: [{ role: 'user', content: 'Which track?' }],
} satisfies ChatRequest

describe('building a request to OpenAI', () => {
  it('passes the request through with the model of the target', () => {
    const rich = {
      ...request,
      temperature: 0.5,
      max_tokens: 20,
      tools: [{ type: 'function', function: { name: 'throw_switch', parameters: { type: 'object' } } }],
      prediction: { type: 'content', content: 'Track 9' },
      prompt_cache_key: 'trains',
    } satisfies ChatRequest & Partial<OpenAI.Chat.Completions.ChatCompletionCreateParams>
    expect(bodyOf(rich, plain)).to.deep.equal({ ...rich, model: 'gpt-4o' })
  })

  it('sets path and headers', () => {
    expect(openai.buildRequest(request, plain)).to.deep.include({
      path: '/chat/completions',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json',
      },
    })
  })

  it('accepts an event stream if the request streams', () => {
    const call = openai.buildRequest({ ...request, stream: true }, plain)
    expect(call.headers.accept).to.equal('text/event-stream')
  })

  it('requests usage for streams, and keeps other stream options', () => {
    const body = bodyOf({ ...request, stream: true, stream_options: { include_obfuscation: false } }, plain)
    expect(body.stream_options).to.deep.equal({ include_obfuscation: false, include_usage: true })
  })

  it('sends no stream options without a stream', () => {
    expect(bodyOf(request, plain)).not.to.have.property('stream_options')
  })

  it('renames max_tokens for reasoning models', () => {
    const body = bodyOf({ ...request, max_tokens: 20 }, reasoning)
    expect(body).to.include({ max_completion_tokens: 20 }).and.not.to.have.property('max_tokens')
  })

  it('prefers max_completion_tokens to max_tokens for reasoning models', () => {
    const body = bodyOf({ ...request, max_tokens: 20, max_completion_tokens: 30 }, reasoning)
    expect(body).to.include({ max_completion_tokens: 30 }).and.not.to.have.property('max_tokens')
  })

  it('sends no token limit if there is none', () => {
    expect(bodyOf({ ...request, max_tokens: null }, reasoning)).to.not.have.any.keys(
      'max_tokens',
      'max_completion_tokens',
    )
  })

  it('omits and reports sampling parameters that the model does not support', () => {
    const sampling = { temperature: 1, top_p: 0.5, presence_penalty: null, logit_bias: { 50256: -100 } }
    const call = openai.buildRequest({ ...request, ...sampling, seed: 7 }, reasoning)
    expect(JSON.parse(String(call.body))).to.deep.equal({ ...request, model: 'o3', seed: 7 })
    expect(call.omitted).to.deep.equal(['temperature', 'top_p', 'logit_bias'])
  })

  it('omits and reports reasoning_effort for models without reasoning', () => {
    const call = openai.buildRequest({ ...request, reasoning_effort: 'low' }, plain)
    expect(JSON.parse(String(call.body))).not.to.have.property('reasoning_effort')
    expect(call.omitted).to.deep.equal(['reasoning_effort'])
  })

  it('sends the nearest effort that the model supports, and reports the change', () => {
    const efforts = ['minimal', 'low', 'medium', 'high']
    const limited: Target = { ...reasoning, entry: entry({ reasoning: true, quirks: { efforts } }) }
    const sent = { none: 'minimal', low: 'low', xhigh: 'high', 'a-new-one': 'a-new-one' }
    for (const [from, to] of Object.entries(sent)) {
      const call = openai.buildRequest({ ...request, reasoning_effort: from }, limited)
      expect(JSON.parse(String(call.body)).reasoning_effort).to.equal(to)
      expect(call.changed).to.deep.equal(from === to ? [] : [{ param: 'reasoning_effort', from, to }])
    }
    expect(bodyOf({ ...request, reasoning_effort: 'xhigh' }, reasoning).reasoning_effort).to.equal('xhigh')
  })

  it('removes fields of other providers from the message history', () => {
    const call = { id: 'call_1', type: 'function', function: { name: 'look', arguments: '{}' } }
    const foreign = { ...call, extra_content: { google: { thought_signature: 'x' } } }
    const history: ChatRequest = {
      messages: [
        { role: 'user', content: 'Hi' },
        { role: 'assistant', content: null, tool_calls: [foreign] },
        { role: 'tool', tool_call_id: 'call_1', content: 'ok' },
      ],
    }
    expect(bodyOf(history, plain).messages).to.deep.equal([
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: null, tool_calls: [call] },
      { role: 'tool', tool_call_id: 'call_1', content: 'ok' },
    ])
  })

  it('sends metadata only with store', () => {
    const tagged = { ...request, metadata: { team: 'red' } }
    expect(bodyOf(tagged, plain)).not.to.have.property('metadata')
    expect(bodyOf({ ...tagged, store: true }, plain)).to.deep.include({ metadata: { team: 'red' } })
  })

  it('omits nothing for a model that is not in the catalogue', () => {
    const call = openai.buildRequest(
      { ...request, temperature: 1, max_tokens: 20 },
      { provider: 'openai', model: 'ft:gpt-4o:acme::abc' },
    )
    expect(JSON.parse(String(call.body))).to.include({
      model: 'ft:gpt-4o:acme::abc',
      temperature: 1,
      max_tokens: 20,
    })
    expect(call.omitted).to.deep.equal([])
  })

  it('does not modify the request', () => {
    const frozen = Object.freeze({ ...request, max_tokens: 20, temperature: 1, stream: true })
    openai.buildRequest(frozen, reasoning)
    expect(frozen).to.deep.equal({ ...request, max_tokens: 20, temperature: 1, stream: true })
  })
})

function bodyOf(chatRequest: ChatRequest, target: Target): Record<string, unknown> {
  return JSON.parse(String(openai.buildRequest(chatRequest, target).body))
}

function entry(fields: Partial<Model>): Model {
  return {
    id: 'some-model',
    provider: 'openai',
    aliases: [],
    context: 128_000,
    max_output: 16_000,
    price: { input: 1, output: 2 },
    quality: 50,
    latency_ms: 500,
    capabilities: { tools: true, images: true, json: 'schema' },
    reasoning: false,
    sampling: true,
    quirks: {},
    ...fields,
  }
}
