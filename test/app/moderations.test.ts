import { expect } from 'chai'
import type { Sandbox } from '../../providers/sandbox/server.ts'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import { providersAt } from '../support/providers.ts'
import { useSandboxGateway } from '../support/sandbox-gateway.ts'

describe('POST /v1/moderations', () => {
  let sandbox: Sandbox
  let gateway: RunningGateway

  useSandboxGateway(1, (...started) => {
    ;[sandbox, gateway] = started
  })

  const judge = (body: object) => gateway.call('POST', '/v1/moderations', body)

  for (const [model, path] of [
    ['omni-moderation-latest', '/openai/v1/moderations'],
    ['mistral-moderation-latest', '/mistral/v1/moderations'],
  ] as const) {
    it(`answers OpenAI's SDK with ${model}`, async () => {
      const input = ['The train departs.', 'I will kill you.']
      const answer = await gateway.openai().moderations.create({ model, input })
      expect(sandbox.requests.at(-1)).to.deep.include({ path, body: { model, input } })
      expect(answer.model).to.equal(model)
      expect(answer.id).to.match(/^modr-/)
      expect(answer.results.map(({ flagged }) => flagged)).to.deep.equal([false, true])
      const [, violent] = answer.results
      expect(violent?.categories).to.include({ violence: true, sexual: false, 'self-harm': false })
      expect(violent?.category_scores.violence).to.be.above(0.9)
      expect(violent?.category_applied_input_types.violence).to.deep.equal(['text'])
      expect(Object.keys(violent?.categories ?? {})).to.include.members(['illicit/violent', 'sexual/minors'])
    })
  }

  it('judges texts and images together with OpenAI, and refuses images for Mistral', async () => {
    const input = [
      { type: 'text', text: 'Look' },
      { type: 'image_url', image_url: { url: 'https://example.com/a.png' } },
    ]
    const { status, body } = await judge({ model: 'omni-moderation-latest', input })
    expect(status).to.equal(200)
    expect(body.results).to.have.length(1)
    expect(sandbox.requests.at(-1)?.body).to.have.deep.property('input', input)
    const refused = await judge({ model: 'mistral-moderation-latest', input })
    expect(refused.status).to.equal(400)
    expect(refused.body.error).to.include({ param: 'input', code: 'unsupported_parameter' })
  })

  it('chooses a model without a name, with its cost', async () => {
    const { status, body, headers } = await judge({ input: 'Track 9' })
    expect(status).to.equal(200)
    expect(body.signalbox.cost_usd).to.be.a('number')
    expect(headers.get('x-model')).to.be.oneOf(['omni-moderation-latest', 'mistral-moderation-latest'])
    const free = await judge({ model: 'omni-moderation-latest', input: 'Track 9' })
    expect(free.body.signalbox.cost_usd).to.equal(0)
  })

  it('refuses other models and providers, and invalid bodies', async () => {
    for (const model of ['gpt-4o', 'gemini:moderation', 'anthropic:moderation', 'text-embedding-3-small']) {
      const { status, body } = await judge({ model, input: 'Track 9' })
      expect(status, model).to.equal(400)
      expect(body.error, model).to.include({ param: 'model', code: 'unsupported_parameter' })
    }
    for (const input of [
      undefined,
      '',
      [],
      [''],
      [1],
      [{ type: 'file' }],
      ['a', { type: 'text', text: 'b' }],
    ])
      expect((await judge({ input })).status, JSON.stringify(input)).to.equal(400)
    expect((await judge({ input: 'x', stream: true })).body.error.param).to.equal('stream')
  })

  it('refuses requests where no provider has a model', async () => {
    const other = await startGateway(providersAt(sandbox, ['anthropic', 'gemini']))
    try {
      const { status, body } = await other.call('POST', '/v1/moderations', { input: 'Track 9' })
      expect(status).to.equal(400)
      expect(body.error.message).to.equal('No available model supports: moderation.')
    } finally {
      await other.stop()
    }
  })
})
