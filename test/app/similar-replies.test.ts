import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'chai'
import { chatBody } from '../support/bodies.ts'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import { newUser } from '../support/new-user.ts'

const completion = (id: string, content: unknown, counts: readonly number[], more: object = {}) => ({
  id,
  object: 'chat.completion',
  created: 1_700_000_000 + counts.length,
  model: 'gpt-4o-2024-08-06',
  choices: [
    {
      index: 0,
      message: { role: 'assistant', content, refusal: null, annotations: [] },
      logprobs: null,
      finish_reason: 'stop',
    },
  ],
  usage: {
    prompt_tokens: counts[0],
    completion_tokens: counts[1],
    total_tokens: counts[2],
    prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: 0, audio_tokens: 0 },
  },
  service_tier: 'default',
  system_fingerprint: 'fp_1',
  ...more,
})

const REPLIES: readonly ReturnType<typeof completion>[] = [
  completion('chatcmpl-1', 'First.', [10, 5, 15]),
  completion('chatcmpl-22', 'Second, "quoted"\n\\ 漢 😀', [1000, 50, 1050]),
  completion('chatcmpl-3', '"},"logprobs":null,"finish_reason":"stop"}],"usage":{}}', [0, 0, 0]),
  completion('chatcmpl-4', 'Other fields.', [1, 2, 3], { signalbox: { provider: 'theirs' } }),
  completion('chatcmpl-5', 'Third.', [7, 8, 15]),
  completion('chatcmpl-6', null, [7, 0, 7]),
]

describe('replies that are like earlier ones', () => {
  let upstream: Server
  let gateway: RunningGateway
  let reply = ''
  before(async () => {
    upstream = createServer((request, response) => {
      request.resume()
      response.setHeader('content-type', 'application/json')
      response.end(reply)
    })
    upstream.listen(0, '127.0.0.1')
    await once(upstream, 'listening')
    const { port } = upstream.address() as AddressInfo
    gateway = await startGateway({
      OPENAI_API_KEY: 'a-key-for-tests',
      OPENAI_BASE_URL: `http://127.0.0.1:${port}`,
    })
  })
  after(async () => {
    await gateway.stop()
    upstream.close()
  })

  for (const indent of [0, 2]) {
    it(`reach the client as they are, with an indent of ${indent}`, async () => {
      const { key } = await newUser(gateway)
      const as = { authorization: `Bearer ${key}` }
      for (const sent of REPLIES) {
        reply = JSON.stringify(sent, undefined, indent)
        const chat = await gateway.call(
          'POST',
          '/v1/chat/completions',
          chatBody('Hi', { model: 'gpt-4o' }),
          as,
        )
        expect(chat.status, JSON.stringify(chat.body)).to.equal(200)
        const { id, signalbox: _, ...expected } = { signalbox: undefined, ...sent }
        for (const [name, value] of Object.entries(expected))
          expect(chat.body[name], name).to.deep.equal(value)
        expect(chat.body.id)
          .to.match(/^chatcmpl-/)
          .and.not.equal(id)
        expect(chat.body.provider).to.equal('openai')
        const messages = await gateway.call(
          'POST',
          '/v1/messages',
          { ...chatBody('Hi', { model: 'gpt-4o' }), max_tokens: 100 },
          as,
        )
        const { content } = sent.choices[0]?.message ?? {}
        expect(messages.body.content).to.deep.equal(content === null ? [] : [{ type: 'text', text: content }])
        expect(messages.body.usage).to.include({
          input_tokens: sent.usage.prompt_tokens,
          output_tokens: sent.usage.completion_tokens,
        })
      }
    })
  }
})
