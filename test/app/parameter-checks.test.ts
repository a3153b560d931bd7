import { expect } from 'chai'
import { type Sandbox, startSandbox } from '../../providers/sandbox/server.ts'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import { providersAt } from '../support/providers.ts'
import { readVectors } from '../support/vectors.ts'

const messages = [{ role: 'user', content: 'Which track?' }]
interface RefusedRequest {
  readonly path: string
  readonly title: string
  readonly body: object
  readonly param: string
}

describe('parameters that no provider can be sent', () => {
  let sandbox: Sandbox
  let gateway: RunningGateway

  before(async () => {
    sandbox = await startSandbox({ record: 10 })
    gateway = await startGateway(providersAt(sandbox))
  })
  after(async () => {
    await gateway?.stop()
    await sandbox.close()
  })

  async function post(path: string, body: object) {
    const { url, routeUrl, demoKey } = gateway
    const response = await fetch((path === '/route' ? routeUrl : url) + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${demoKey}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    // biome-ignore lint/suspicious/noExplicitAny: a body of any dialect
    return { status: response.status, body: (await response.json()) as any }
  }

  for (const { path, title, body, param } of readVectors<readonly RefusedRequest[]>('refused-parameters')) {
    it(`${path} refuses ${title}`, async () => {
      const before = sandbox.requests.length
      for (const model of ['auto', 'gemini-3.6-flash', 'claude-haiku-4-5']) {
        const answer = await post(path, { model, ...body })
        expect(answer.status, JSON.stringify(answer.body)).to.equal(400)
        expect(answer.body.error.param, JSON.stringify(answer.body)).to.equal(param)
        expect(answer.body.error.message).to.contain(param)
      }
      expect(sandbox.requests.length).to.equal(before)
    })
  }

  for (const content of ['', ' ', [{ type: 'text', text: '' }]]) {
    it(`refuses ${JSON.stringify(content)} as the only content for Claude and Gemini, without a call`, async () => {
      for (const [path, model, provider] of [
        ['/v1/chat/completions', 'claude-haiku-4-5', 'anthropic'],
        ['/v1/messages', 'claude-haiku-4-5', 'anthropic'],
        ['/v1/chat/completions', 'gemini-3.6-flash', 'gemini'],
      ] as const) {
        // Gemini accepts white space.
        if (provider === 'gemini' && content === ' ') continue
        const body = { model, max_tokens: 10, messages: [{ role: 'user', content }] }
        const before = sandbox.requests.length
        const answer = await post(path, body)
        expect(answer.status, JSON.stringify(answer.body)).to.equal(400)
        expect(answer.body.error.param).to.equal('messages')
        expect(answer.body.error.message).to.contain(provider)
        expect(sandbox.requests.length).to.equal(before)
      }
    })
  }

  it('still sends a choice of none without tools', async () => {
    const answer = await post('/v1/chat/completions', { model: 'gpt-4o', messages, tool_choice: 'none' })
    expect(answer.status).to.equal(200)
  })
})
