import { expect } from 'chai'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import { MODELS, PROVIDERS } from '../support/providers.ts'

/** Every field that may be null, and null. SDKs send these for options that their user did not set. */
const NULLS = Object.fromEntries(
  [
    ...['temperature', 'top_p', 'presence_penalty', 'frequency_penalty', 'max_tokens'],
    ...['max_completion_tokens', 'n', 'stream', 'stream_options', 'stop', 'metadata', 'tools'],
    ...['tool_choice', 'response_format', 'logit_bias', 'seed', 'logprobs', 'reasoning_effort'],
    ...['user'],
  ].map((name) => [name, null]),
)

/** The same for messages. */
const MESSAGE_NULLS = Object.fromEntries(
  [
    ...['temperature', 'top_p', 'top_k', 'stop_sequences', 'metadata', 'tools', 'tool_choice'],
    ...['thinking', 'output_config', 'stream', 'cache_control', 'container'],
  ].map((name) => [name, null]),
)

const MESSAGES = [
  { role: 'user', content: 'Which track?' },
  { role: 'assistant', content: 'Track 9.', tool_calls: null },
  { role: 'user', content: 'Thank you.' },
]

const TOOL = { type: 'function', function: { name: 'find_track', parameters: null } }

const EMBEDDING_NULLS = {
  ...Object.fromEntries(['dimensions', 'encoding_format', 'metadata', 'stream'].map((name) => [name, null])),
  input: 'Track 9',
}

const COMPLETION_NULLS = {
  ...Object.fromEntries(
    [
      'temperature',
      'top_p',
      'max_tokens',
      'n',
      'best_of',
      'logprobs',
      'suffix',
      'echo',
      'stop',
      'stream',
    ].map((name) => [name, null]),
  ),
  prompt: 'Track 9',
}

describe('requests with null fields', () => {
  let gateway: RunningGateway

  before(async () => {
    gateway = await startGateway()
  })

  after(() => gateway.stop())

  it('are answered as completions and moderations', async () => {
    expect((await gateway.call('POST', '/v1/completions', COMPLETION_NULLS)).status).to.equal(200)
    const nulls = { input: 'Track 9', metadata: null, stream: null }
    expect((await gateway.call('POST', '/v1/moderations', nulls)).status).to.equal(200)
  })

  for (const model of ['text-embedding-3-small', 'gemini-embedding-2', 'mistral-embed']) {
    it(`are answered by ${model}`, async () => {
      const { status, body } = await gateway.call('POST', '/v1/embeddings', { ...EMBEDDING_NULLS, model })
      expect(status, JSON.stringify(body)).to.equal(200)
    })
  }

  for (const provider of PROVIDERS) {
    it(`are answered by ${provider}`, async () => {
      const body = { ...NULLS, model: MODELS[provider], messages: MESSAGES }
      for (const tools of [null, [TOOL]]) {
        const answer = await gateway.call('POST', '/v1/chat/completions', { ...body, tools })
        expect(answer.status, JSON.stringify(answer.body)).to.equal(200)
        expect(answer.body).to.have.property('provider', provider)
      }
      const messages = MESSAGES.map(({ role, content }) => ({ role, content }))
      const nulls = { ...MESSAGE_NULLS, model: MODELS[provider], max_tokens: 50, messages }
      const answer = await gateway.call('POST', '/v1/messages', nulls)
      expect(answer.status, JSON.stringify(answer.body)).to.equal(200)
      expect(answer.body.signalbox).to.have.property('provider', provider)
    })
  }
})
