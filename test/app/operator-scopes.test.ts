import { expect } from 'chai'
import { AS_ADMIN, type RunningGateway, startGateway } from '../support/gateway.ts'
import { newOperator } from '../support/operators.ts'

describe('scopes of operators', () => {
  let gateway: RunningGateway
  before(async () => {
    gateway = await startGateway()
  })
  after(() => gateway.stop())

  const asRoot = (method: string, path: string, body?: unknown) => gateway.call(method, path, body, AS_ADMIN)

  async function newGroup(name: string): Promise<number> {
    return (await asRoot('POST', '/admin/groups', { name })).body.data.id
  }

  it('are everything unless they are set, and shown', async () => {
    const everything = await newOperator(gateway, 'auditor')
    const path = `/admin/operators/${everything.id}`
    expect((await asRoot('GET', path)).body.data.scope).to.equal(null)
    const group = await newGroup('Support')
    const { body } = await asRoot('PATCH', path, { scope: { groups: [group] } })
    expect(body.data).to.deep.include({ role: 'auditor', scope: { groups: [group] } })
  })

  it('name groups that exist', async () => {
    const scope = { groups: [999_999] }
    const { status, body } = await asRoot('POST', '/admin/operators', { name: 'A', role: 'admin', scope })
    expect(status).to.equal(400)
    expect(body.error).to.include({ code: 'invalid_value', param: 'scope.groups[0]' })
    const empty = await asRoot('POST', '/admin/operators', {
      name: 'A',
      role: 'admin',
      scope: { groups: [] },
    })
    expect(empty.status).to.equal(400)
  })

  it('are events, in force as soon as the change is answered', async () => {
    const group = await newGroup('Support')
    const operator = await newOperator(gateway, 'admin')
    const operators = () => operator.call('GET', '/admin/operators')
    expect((await operators()).status).to.equal(200)
    await asRoot('PATCH', `/admin/operators/${operator.id}`, { scope: { groups: [group] } })
    const refused = await operators()
    expect(refused.status).to.equal(403)
    expect(refused.headers.get('x-error-code')).to.equal('endpoint_not_allowed')
    await asRoot('PATCH', `/admin/operators/${operator.id}`, { scope: null })
    expect((await operators()).status).to.equal(200)
    const { body } = await asRoot('GET', `/admin/operators/${operator.id}/history`)
    expect(body.data.map(({ event }: { event: string }) => event)).to.deep.equal([
      'created',
      'updated',
      'updated',
    ])
    expect(body.data[1].after.scope).to.deep.equal({ groups: [group] })
  })
})
