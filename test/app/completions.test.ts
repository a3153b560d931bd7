import { expect } from 'chai'
import type { Sandbox } from '../../providers/sandbox/server.ts'
import type { RunningGateway } from '../support/gateway.ts'
import { MODELS } from '../support/providers.ts'
import { useSandboxGateway } from '../support/sandbox-gateway.ts'

describe('POST /v1/completions', () => {
  let sandbox: Sandbox
  let gateway: RunningGateway

  useSandboxGateway(1, (...started) => {
    ;[sandbox, gateway] = started
  })

  const complete = (body: object) => gateway.call('POST', '/v1/completions', body)

  it("answers OpenAI's SDK with every provider, as a chat with one message", async () => {
    for (const model of Object.values(MODELS)) {
      const answer = await gateway.openai().completions.create({ model, prompt: 'Which track?' })
      expect(answer).to.deep.include({ object: 'text_completion', model })
      expect(answer.id).to.match(/^cmpl-/)
      const [choice] = answer.choices
      expect(choice).to.deep.include({ index: 0, logprobs: null, finish_reason: 'stop' })
      expect(choice?.text).to.contain('Which track?')
      expect(answer.usage?.completion_tokens).to.be.above(0)
    }
  })

  it('sends what the caller asks for', async () => {
    const fields = { temperature: 0.5, stop: ['@@'], seed: 1, max_tokens: 5, logit_bias: { 1: 2 }, user: 'u' }
    const { status, body } = await complete({
      model: 'gpt-4o',
      prompt: ['Hello'],
      ...fields,
      echo: false,
      n: 1,
    })
    expect(status).to.equal(200)
    const messages = [{ role: 'user', content: 'Hello' }]
    expect(sandbox.requests.at(-1)?.body).to.deep.equal({ model: 'gpt-4o', messages, ...fields })
    expect(body.choices[0].finish_reason).to.equal('length')
    expect(body.signalbox.provider).to.equal('openai')
  })

  it('streams, with the usage if it is requested', async () => {
    for (const include_usage of [false, true]) {
      const request = { model: 'gpt-4o', prompt: 'Which track?', stream_options: { include_usage } }
      const stream = await gateway.openai().completions.create({ ...request, stream: true })
      const records = []
      for await (const record of stream) records.push(record)
      const whole = await gateway.openai().completions.create({ model: 'gpt-4o', prompt: 'Which track?' })
      const text = records.map(({ choices }) => choices[0]?.text ?? '').join('')
      expect(text).to.equal(whole.choices[0]?.text)
      const reasons = records.flatMap(({ choices }) => choices.map(({ finish_reason }) => finish_reason))
      expect(reasons.filter((reason) => reason !== null)).to.deep.equal(['stop'])
      expect(records[0]).to.have.property('signalbox')
      expect(records.at(-1)).to.have.nested.property('signalbox.cost_usd')
      expect(records.at(-1)?.usage?.total_tokens).to.equal(
        include_usage ? whole.usage?.total_tokens : undefined,
      )
    }
  })

  it('ends a failed stream with an error record', async () => {
    const prompt = 'Which track? [[sandbox:error-mid=3 token-delay=10]]'
    const stream = await gateway.openai().completions.create({ model: 'gpt-4o', prompt, stream: true })
    const read = async () => {
      for await (const record of stream) expect(record.object).to.equal('text_completion')
    }
    const error: unknown = await read().catch((thrown: unknown) => thrown)
    expect(error).to.be.an('error').with.property('code', 'provider_error')
  })

  it('refuses what chat models cannot do, by the name of the field', async () => {
    const prompt = 'Hello'
    for (const [param, fields] of Object.entries({
      suffix: { suffix: 'x' },
      echo: { echo: true },
      best_of: { best_of: 2 },
      n: { n: 2 },
      logprobs: { logprobs: 0 },
      prompt: { prompt: ['a', 'b'] },
      messages: { messages: [{ role: 'user', content: 'x' }] },
      tools: { tools: [] },
    })) {
      const { status, body } = await complete({ model: 'gpt-4o', prompt, ...fields })
      expect(status, param).to.equal(400)
      expect(body.error, param).to.include({ param, code: 'unsupported_parameter' })
    }
    for (const tokens of [
      [1, 2],
      [[1], [2]],
    ]) {
      const { body } = await complete({ model: 'gpt-4o', prompt: tokens })
      expect(body.error.message).to.equal(
        'POST /v1/completions does not support prompt as token ids. Send the prompt as text.',
      )
    }
    for (const invalid of [undefined, '', [], [''], null, 1])
      expect((await complete({ model: 'gpt-4o', prompt: invalid })).status).to.equal(400)
    const nulls = { suffix: null, echo: null, best_of: null, logprobs: null, n: null, stream: null }
    expect((await complete({ model: 'gpt-4o', prompt, ...nulls })).status).to.equal(200)
  })
})
