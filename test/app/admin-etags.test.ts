import { expect } from 'chai'
import { firewallRuleBody, routingRuleBody, toolRuleBody } from '../support/bodies.ts'
import { type Answer, AS_ADMIN, type RunningGateway, startGateway } from '../support/gateway.ts'
import { newUser } from '../support/new-user.ts'

type Call = (method: string, path: string, body?: unknown, headers?: object) => Promise<Answer>

const BUDGET = { limit_usd: 5, period: 'day', on_exceed: 'refuse' }

async function createAt(call: Call, path: string, body: object): Promise<string> {
  const { data } = (await call('POST', path, body)).body
  return `${path}/${data.id}`
}

const newUserPath = (call: Call) => createAt(call, '/admin/users', { name: 'Ada', plan: 'paid' })

async function newKeyPath(call: Call): Promise<string> {
  const { data } = (await call('POST', `${await newUserPath(call)}/keys`, { name: 'k' })).body
  return `/admin/keys/${data.id}`
}

describe('what operators manage', () => {
  let gateway: RunningGateway
  before(async () => {
    gateway = await startGateway()
  })
  after(() => gateway.stop())

  const call: Call = (method, path, body, headers) =>
    gateway.call(method, path, body, { ...AS_ADMIN, ...headers })

  it('has an ETag, and is replaced and revoked only if it is as expected (key)', async () => {
    const path = await newKeyPath(call)
    const { headers, body } = await call('GET', path)
    expect(body.data).to.deep.include({ name: 'k', revoked_at: null })
    const etag = headers.get('etag')
    expect((await call('GET', path, undefined, { 'if-none-match': etag })).status).to.equal(304)
    await call('PUT', `${path}/budget`, BUDGET)
    for (const stale of [{ 'if-match': etag }, { 'if-none-match': '*' }]) {
      expect((await call('POST', `${path}/rotate`, { overlap_seconds: 60 }, stale)).status).to.equal(412)
      expect((await call('DELETE', path, undefined, stale)).status).to.equal(412)
    }
    const current = { 'if-match': (await call('GET', path)).headers.get('etag') }
    expect((await call('POST', `${path}/rotate`, { overlap_seconds: 60 }, current)).status).to.equal(201)
    expect((await call('DELETE', path, undefined, current)).status).to.equal(412)
    expect((await call('DELETE', path)).status).to.equal(200)
    expect((await call('GET', '/admin/keys/key_unknown')).status).to.equal(404)
  })

  for (const [kind, rule] of [
    ['routing', routingRuleBody()],
    ['firewall', firewallRuleBody()],
    ['tool', toolRuleBody()],
  ] as const) {
    it(`is not changed with If-None-Match: * (${kind} rule)`, async () => {
      const user = await newUser(gateway)
      const path = `/v1/${kind}-rules`
      const { data } = (await user.call('POST', path, rule)).body
      const headers = { 'if-none-match': '*' }
      for (const verb of ['PATCH', 'DELETE'])
        expect((await user.call(verb, `${path}/${data.id}`, { priority: 3 }, headers)).status).to.equal(412)
      expect((await user.call('PATCH', `${path}/99999`, { priority: 3 }, headers)).status).to.equal(404)
    })
  }

  it('is listed in pages: operators oldest first, policies in evaluation order', async () => {
    for (let index = 0; index < 5; index++) {
      await call('POST', '/admin/operators', { name: `o${index}`, role: 'auditor' })
      const policy = {
        name: `page${index}`,
        is_enabled: false,
        priority: index % 2,
        applies_to: { everyone: true },
      }
      expect((await call('POST', '/admin/policies', policy)).status).to.equal(201)
    }
    for (const path of ['/admin/operators', '/admin/policies']) {
      const all = (await call('GET', path)).body
      expect(all.next_cursor).to.equal(null)
      const paged: unknown[] = []
      let cursor: string | null = ''
      while (cursor !== null) {
        const page: Answer = await call('GET', `${path}?limit=2${cursor && `&cursor=${cursor}`}`)
        expect(page.body.data.length).to.be.at.most(2)
        paged.push(...page.body.data)
        cursor = page.body.next_cursor
      }
      expect(paged).to.deep.equal(all.data)
      expect(paged.length).to.be.at.least(5)
      expect((await call('GET', `${path}?cursor=x`)).status).to.equal(400)
    }
  })
})
