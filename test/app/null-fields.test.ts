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

describe('requests with null fields', () => {
  let gateway: RunningGateway

  before(async () => {
    gateway = await startGateway()
  })

  after(() => gateway.stop())

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
