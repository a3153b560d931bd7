import { expect } from 'chai'
import { type Sandbox, startSandbox } from '../../providers/sandbox/server.ts'
import { firewallRuleBody, routingRuleBody } from '../support/bodies.ts'
import { askCached, startCachingGateway } from '../support/cache.ts'
import type { RunningGateway } from '../support/gateway.ts'
import { newUser, type TestUser } from '../support/new-user.ts'

describe('embeddings under rules', () => {
  let sandbox: Sandbox
  let gateway: RunningGateway
  let user: TestUser

  before(async () => {
    sandbox = await startSandbox({ record: 100 })
    gateway = await startCachingGateway(sandbox)
  })
  after(async () => {
    await gateway?.stop()
    await sandbox?.close()
  })
  beforeEach(async () => {
    user = await newUser(gateway)
  })

  const embed = (body: object) =>
    user.call('POST', '/v1/embeddings', { model: 'text-embedding-3-small', input: 'Track 9', ...body })
  const addRouting = (action_json: object) =>
    user.call('POST', '/v1/routing-rules', routingRuleBody({ action_json }))

  for (const action of ['block', 'mask']) {
    it(`are refused as token ids where a rule would ${action}`, async () => {
      const rule = await user.call('POST', '/v1/firewall-rules', firewallRuleBody({ action }))
      const before = sandbox.requests.length
      for (const input of [
        [11, 12],
        [[11], [12]],
      ]) {
        const { status, body } = await embed({ input })
        expect(status).to.equal(403)
        expect(body.error).to.include({ code: 'firewall_blocked' })
        expect(body.error.meta.rule_id).to.equal(rule.body.data.id)
        expect(body.error.message).to.match(/token ids cannot be inspected\. Send the input as text\.$/)
      }
      expect(sandbox.requests.length).to.equal(before)
      expect((await embed({})).status).to.equal(200)
    })
  }

  it('are served as token ids with a warning where a rule would only warn', async () => {
    await user.call('POST', '/v1/firewall-rules', firewallRuleBody({ action: 'warn' }))
    const { status, body } = await embed({ input: [11, 12] })
    expect(status).to.equal(200)
    expect(body.signalbox.warnings[0].message).to.contain('token ids cannot be inspected')
  })

  it('stay with the provider of a rule, with vectors of the same length', async () => {
    await addRouting({ set_provider: 'mistral' })
    const { body } = await embed({})
    expect(body).to.include({ provider: 'mistral', model: 'codestral-embed-2505' })
    expect(body.data[0].embedding).to.have.length(1536)
    const named = await embed({ model: 'mistral-embed' })
    expect(named.body).to.include({ provider: 'mistral', model: 'mistral-embed' })
    const impossible = await embed({ model: 'text-embedding-3-large', dimensions: 5000 })
    expect(impossible.status).to.equal(400)
  })

  it('use the embedding models of its provider for a chat model that a rule sets', async () => {
    await addRouting({ set_model: 'gemini-3.5-flash' })
    const { body } = await embed({})
    expect(body.provider).to.equal('gemini')
    expect(body.data[0].embedding).to.have.length(1536)
    expect(body.signalbox.warnings[0].message).to.equal(
      'The model gemini-3.5-flash, set by a routing rule, is not for embeddings; ' +
        'a model of its provider gemini was used instead.',
    )
  })

  it('use the embedding model that a rule sets, and keep a named model in another mode', async () => {
    const { body: rule } = await addRouting({ set_mode: 'quality' })
    const kept = await embed({})
    expect(kept.body.model).to.equal('text-embedding-3-small')
    await user.call('PATCH', `/v1/routing-rules/${rule.data.id}`, {
      action_json: { set_model: 'text-embedding-3-large' },
    })
    const { body } = await embed({})
    expect(body.model).to.equal('text-embedding-3-large')
    expect(body.data[0].embedding).to.have.length(1536)
  })

  it('are cached apart from chats, and not at all as token ids', async () => {
    const url = `${gateway.url}/v1/embeddings`
    const headers = { 'x-cache': 'on' }
    const body = { model: 'text-embedding-3-small', input: 'Track 9' }
    const answers = []
    for (const more of [{}, {}, { encoding_format: 'base64' }, { input: [1] }, { input: [1] }])
      answers.push(await askCached(user.key, url, { ...body, ...more }, headers))
    expect(answers.map(({ cache }) => cache)).to.deep.equal(['miss', 'hit', 'miss', null, null])
    expect(answers[1]?.body.data).to.deep.equal(answers[0]?.body.data)
    expect(answers[1]?.body.signalbox.cost_usd).to.equal(0)
  })
})
