import { expect } from 'chai'
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'
import { firewallRuleBody } from '../support/bodies.ts'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import { newUser, type TestUser } from '../support/new-user.ts'

/** Tokens that OpenAI adds to a request and to each message. */
const REQUEST = 3
const MESSAGE = 4

describe('POST /v1/responses/input_tokens', () => {
  let gateway: RunningGateway
  let user: TestUser
  before(async () => {
    gateway = await startGateway()
  })
  beforeEach(async () => {
    user = await newUser(gateway)
  })
  after(() => gateway.stop())

  const count = (body: object, caller = user) => caller.call('POST', '/v1/responses/input_tokens', body)
  const tokensOf = async (body: object) => {
    const { status, body: answer } = await count({ model: 'gpt-4o', ...body })
    expect(status, JSON.stringify(answer)).to.equal(200)
    return answer.input_tokens
  }
  const forbid = (pattern: string, action: string) =>
    user.call('POST', '/v1/firewall-rules', firewallRuleBody({ name: 'no', pattern, action }))

  it('counts the tokens of a text and its instructions, as the official client reads it', async () => {
    const input = 'a'.repeat(400)
    const client = gateway.openai(user.key)
    const counted = await client.responses.inputTokens.count({ model: 'gpt-4o', input })
    expect(counted).to.include({ object: 'response.input_tokens', input_tokens: 50 + REQUEST + MESSAGE })
    const more = await tokensOf({ input, instructions: 'b'.repeat(40) })
    expect(more).to.be.within(counted.input_tokens + MESSAGE + 5, counted.input_tokens + MESSAGE + 30)
    expect(
      await tokensOf({ input: [{ role: 'user', content: [{ type: 'input_text', text: input }] }] }),
    ).to.equal(counted.input_tokens)
    expect(await tokensOf({})).to.equal(REQUEST + MESSAGE)
    const instructed = await tokensOf({ input: null, instructions: 'b'.repeat(40) })
    expect(instructed).to.equal(more - 50)
  })

  it('counts the earlier turns of a conversation', async () => {
    const first = await user.call('POST', '/v1/responses', { model: 'gpt-4o', input: 'a'.repeat(400) })
    const { id: previous_response_id, output } = first.body
    const reply = countTokens(output[0].content[0].text)
    const input = 'b'.repeat(40)
    const expected = 50 + reply + countTokens(input) + REQUEST + 3 * MESSAGE
    expect(await tokensOf({ previous_response_id, input })).to.equal(expected)
    const stranger = await newUser(gateway)
    const { status, body } = await count({ previous_response_id, input: 'b' }, stranger)
    expect([status, body.error.param]).to.deep.equal([400, 'previous_response_id'])
  })

  it('calls no provider and stores nothing', async () => {
    const { headers } = await count({ model: 'gpt-4o', input: 'Hello [[sandbox:status=500]]' })
    const id = headers.get('x-request-id')
    expect(headers.get('x-provider')).to.equal(null)
    expect((await user.call('GET', `/v1/responses/${id}`)).status).to.equal(404)
  })

  it('applies the rules of the user: a block refuses, a mask is counted as it is sent', async () => {
    await forbid('secret', 'block')
    const blocked = await count({ input: 'my secret' })
    expect([blocked.status, blocked.headers.get('x-error-code')]).to.deep.equal([403, 'firewall_blocked'])
    await forbid('aaaaaaaaaaaaaaaaaaaa', 'mask')
    const masked = countTokens('[redacted]') + REQUEST + MESSAGE
    expect(await tokensOf({ input: 'a'.repeat(20) })).to.equal(masked)
  })

  it('refuses what a response would be refused for, with the path of the caller', async () => {
    const unknown = await count({ model: 'no-such-model', input: 'x' })
    expect([unknown.status, unknown.body.error.code]).to.deep.equal([404, 'model_not_found'])
    const invalid = await count({ input: [{ role: 'user', content: [{ type: 'input_text' }] }] })
    expect([invalid.status, invalid.body.error.param]).to.deep.equal([400, 'input[0].content[0].text'])
    expect(
      (await gateway.call('POST', '/v1/responses/input_tokens', {}, { authorization: '' })).status,
    ).to.equal(401)
  })
})
