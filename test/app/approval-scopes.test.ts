import { expect } from 'chai'
import { toolRuleBody } from '../support/bodies.ts'
import { AS_ADMIN, type RunningGateway } from '../support/gateway.ts'
import { atUrl, startToolGateway } from '../support/mcp/gateway.ts'
import { callToolRaw } from '../support/mcp/raw-call.ts'
import { startHttp, type TestServer } from '../support/mcp/servers.ts'
import { newUser, type TestUser } from '../support/new-user.ts'
import { newOperator, type TestOperator } from '../support/operators.ts'

describe('approvals and operators with a scope', () => {
  let gateway: RunningGateway
  let server: TestServer
  let user: TestUser
  let outsider: TestOperator
  let insider: TestOperator
  let calls = 0

  before(async () => {
    server = await startHttp((_, response, body) => {
      const { id, method } = JSON.parse(body)
      if (method === 'tools/call') calls++
      const result =
        method === 'server/discover'
          ? { supportedVersions: ['2026-07-28'], capabilities: { tools: {} } }
          : { resultType: 'complete', tools: [{ name: 'write', inputSchema: {} }], content: [] }
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ jsonrpc: '2.0', id, result }))
    })
    gateway = await startToolGateway([atUrl('files', server.url)])
    const newGroup = async (name: string): Promise<number> =>
      (await gateway.call('POST', '/admin/groups', { name }, AS_ADMIN)).body.data.id
    const [inside, outside] = [await newGroup('Inside'), await newGroup('Outside')]
    user = await newUser(gateway)
    const member = await gateway.call(
      'PUT',
      `/admin/groups/${inside}/members/${user.id}`,
      undefined,
      AS_ADMIN,
    )
    expect(member.status).to.be.lessThan(300)
    insider = await newOperator(gateway, 'editor', 'In', { scope: { groups: [inside] } })
    outsider = await newOperator(gateway, 'admin', 'Out', { scope: { groups: [outside] } })
    const operations = [{ kind: 'tool', op: 'create', data: toolRuleBody({ action: 'require_approval' }) }]
    expect((await user.call('POST', '/v1/rules/batch', { operations })).status).to.equal(200)
  })
  after(async () => {
    await gateway.stop()
    await server.stop()
  })

  const call = async () => {
    const { body } = await callToolRaw(gateway, user.key, { server: 'files', tool: 'write' })
    return body.error?.data ?? body.result
  }

  it('are neither seen nor decided by one whose groups the user is not in', async () => {
    const { code, approval_id: id } = await call()
    expect(code).to.equal('approval_required')
    const unknown = `apr_${'0'.repeat(24)}`
    for (const [method, path] of [
      ['GET', ''],
      ['POST', '/grant'],
      ['POST', '/deny'],
    ] as const) {
      const answer = await outsider.call(method, `/admin/approvals/${id}${path}`)
      const other = await outsider.call(method, `/admin/approvals/${unknown}${path}`)
      expect(answer.status, path).to.equal(404)
      // It is as if there was none.
      expect(answer.body.error.message.replace(id, unknown)).to.equal(other.body.error.message)
    }
    for (const query of ['', '?status=pending', '?limit=1'])
      expect((await outsider.call('GET', `/admin/approvals${query}`)).body.data).to.deep.equal([])
    const audit = await outsider.call('GET', '/admin/audit?kind=approval')
    expect(JSON.stringify(audit.body)).to.not.include(id)
    expect(await call()).to.include({ code: 'approval_required', approval_id: id })
    expect(calls).to.equal(0)

    const seen = await insider.call('GET', '/admin/approvals')
    expect(seen.body.data.map((approval: { id: string }) => approval.id)).to.deep.equal([id])
    expect((await insider.call('POST', `/admin/approvals/${id}/grant`)).status).to.equal(200)
    expect((await outsider.call('POST', `/admin/approvals/${id}/deny`)).status).to.equal(404)
    expect(await call()).to.have.property('content')
    expect(calls).to.equal(1)
  })
})
