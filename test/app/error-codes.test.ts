import { expect } from 'chai'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import { newUser, type TestUser } from '../support/new-user.ts'

/** What requests of each endpoint may be refused for, without a provider: a body by the code of the error. */
const REFUSED: Readonly<Record<string, readonly object[]>> = {
  '/v1/chat/completions': [
    {},
    { model: 'no-such-model', messages: [{ role: 'user', content: 'Hi' }] },
    { messages: [{ role: 'user', content: 'Hi' }], n: 2 },
    { messages: [{ role: 'user', content: 'Hi' }], temperature: 'hot' },
    { messages: [{ role: 'function', name: 'f', content: 'x' }] },
  ],
  '/v1/messages': [
    {},
    {
      model: 'gpt-4o',
      max_tokens: 5,
      messages: [{ role: 'user', content: 'Hi' }],
      thread: { type: 'create' },
    },
    { model: 'gpt-4o', max_tokens: 5, messages: [{ role: 'user', content: 'Hi' }], temperature: 'hot' },
    { model: 'no-such-model', max_tokens: 5, messages: [{ role: 'user', content: 'Hi' }] },
  ],
  '/v1/messages/count_tokens': [
    {},
    { model: 'no-such-model', messages: [{ role: 'user', content: 'Hi' }] },
    { model: 'gpt-4o', messages: [{ role: 'user', content: 'Hi' }], thread: { type: 'create' } },
  ],
  '/v1/responses': [
    {},
    { input: 'Hi', previous_response_id: 'resp_none' },
    { input: 'Hi', conversation: 'conv_1' },
    { input: 'Hi', background: true },
    { input: 'Hi', model: 'no-such-model' },
    { input: [{ type: 'function_call_output', call_id: 'none', output: 'x' }] },
    { input: [{ type: 'item_reference', id: 'msg_none' }] },
  ],
  '/v1/responses/input_tokens': [
    { input: 'Hi', previous_response_id: 'resp_none' },
    { input: 'Hi', model: 'no-such-model' },
  ],
  '/v1/responses/compact': [{}, { model: 'gpt-4o', input: 'Hi', previous_response_id: 'resp_none' }],
  '/v1/completions': [{}, { prompt: 'Hi', best_of: 2 }, { prompt: 'Hi', model: 'no-such-model' }],
  '/v1/embeddings': [{}, { input: 'Hi', model: 'no-such-model' }, { input: 'Hi', stream: true }],
  '/v1/moderations': [{}, { input: 'Hi', model: 'no-such-model' }],
  '/v1/no-such-endpoint': [{}],
  '/v1/responses/resp_none/cancel': [{}],
  '/v1/responses/resp_none': [{}],
  '/v1/simulate': [{}],
  '/v1/routing-rules': [{}, { name: 'x', is_enabled: 1 }],
  '/v1/firewall-rules': [{}],
}

describe('the code of an error', () => {
  let gateway: RunningGateway
  let user: TestUser
  before(async () => {
    gateway = await startGateway()
    user = await newUser(gateway)
  })
  after(() => gateway.stop())

  for (const [path, bodies] of Object.entries(REFUSED))
    it(`is the same in the header and the body: ${path}`, async () => {
      for (const body of bodies) {
        const streams = path.includes('responses/') ? [{}] : [{}, { stream: true }]
        for (const stream of streams) {
          const answer = await user.call('POST', path, { ...body, ...stream })
          const asked = JSON.stringify({ ...body, ...stream })
          expect(answer.status, asked).to.be.within(400, 499)
          expect(answer.body.error.code, asked).to.equal(answer.headers.get('x-error-code'))
        }
      }
      const stranger = await gateway.call('POST', path, bodies[0], { authorization: 'Bearer tr_none' })
      expect(stranger.body.error.code).to.equal(stranger.headers.get('x-error-code'))
    })

  it("is the interface's own on /route, and the precise one in the header", async () => {
    const call = (body: object) =>
      fetch(`${gateway.routeUrl}/route`, {
        method: 'POST',
        headers: { authorization: `Bearer ${user.key}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
    for (const [body, code] of [
      [{}, 'missing_parameter'],
      [{ prompt: 'Hi', temperature: 9 }, 'invalid_value'],
    ] as const) {
      const answer = await call(body)
      const { error } = (await answer.json()) as { error: { code: string } }
      expect([error.code, answer.headers.get('x-error-code')]).to.deep.equal(['missing_parameter', code])
    }
  })
})
