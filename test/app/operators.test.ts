import { expect } from 'chai'
import { startDocumentedGateway } from '../support/documented-gateway.ts'
import { makeFolder } from '../support/folders.ts'
import { AS_ADMIN, type RunningGateway, startGateway } from '../support/gateway.ts'
import { readGenerated } from '../support/generated-text.ts'
import { newUser } from '../support/new-user.ts'
import { newOperator, type TestOperator } from '../support/operators.ts'
import { readResponse } from '../support/read-response.ts'
import { writeRoleMatrix } from '../support/role-matrix.ts'

const ROLES = ['auditor', 'editor', 'admin'] as const
type Role = (typeof ROLES)[number]

interface AdminEndpoint {
  readonly method: string
  readonly path: string
  readonly role: Role
  readonly scope: 'filtered' | 'whole' | 'refused'
  readonly description: string
}

describe('operators', () => {
  let gateway: RunningGateway
  before(async () => {
    gateway = await startDocumentedGateway()
  })
  after(() => gateway.stop())

  describe('and every endpoint for them', () => {
    let endpoints: readonly AdminEndpoint[]
    let operators: Readonly<Record<Role, TestOperator>>

    before(async () => {
      const { body } = await gateway.call('GET', '/openapi.json')
      endpoints = listAdminEndpoints(body)
      operators = {
        auditor: await newOperator(gateway, 'auditor', 'Ada'),
        editor: await newOperator(gateway, 'editor', 'Bob'),
        admin: await newOperator(gateway, 'admin', 'Cleo'),
      }
    })

    /** No user, key or operator has these ids, and no body is valid: nothing is changed. */
    const send = (headers: Record<string, string>, { method, path }: AdminEndpoint) =>
      fetch(gateway.url + path.replaceAll(/\{\w+\}/g, '999999'), { method, headers })

    it('state their role', () => {
      expect(endpoints.length).to.be.above(15)
      for (const { method, path, role, description } of endpoints) {
        expect(ROLES, `${method} ${path}`).to.include(role)
        expect(description).to.contain(`Requires the role ${role}.`)
        if (method === 'GET') expect(role, `${method} ${path}`).to.equal('auditor')
      }
    })

    it('require a key', async () => {
      for (const endpoint of endpoints)
        expect((await send({}, endpoint)).status, `${endpoint.method} ${endpoint.path}`).to.equal(401)
    })

    for (const role of ROLES) {
      it(`admit the role ${role} to what it includes, and to nothing else`, async () => {
        for (const endpoint of endpoints) {
          const response = await send(operators[role].headers, endpoint)
          const text = await readResponse(response)
          const title = `${endpoint.method} ${endpoint.path} by ${role}`
          if (ROLES.indexOf(role) >= ROLES.indexOf(endpoint.role)) {
            expect(response.status, title).not.to.be.oneOf([401, 403, 500])
          } else {
            expect(response.status, title).to.equal(403)
            expect(response.headers.get('x-error-code'), title).to.equal('role_required')
            expect(JSON.parse(text).error.message, title).to.contain(`requires the role ${endpoint.role};`)
          }
        }
      })
    }

    for (const role of ROLES) {
      it(`give the role ${role} with a scope what they declare`, async () => {
        const group = await gateway.call('POST', '/admin/groups', { name: 'Support' }, AS_ADMIN)
        const scope = { groups: [group.body.data.id] }
        const { headers } = await newOperator(gateway, role, 'Dan', { scope })
        for (const endpoint of endpoints) {
          const response = await send(headers, endpoint)
          const text = await readResponse(response)
          const title = `${endpoint.method} ${endpoint.path} by ${role}`
          const found = [response.status, response.headers.get('x-error-code')]
          if (ROLES.indexOf(role) < ROLES.indexOf(endpoint.role))
            expect(found, title).to.deep.equal([403, 'role_required'])
          else if (endpoint.scope === 'refused')
            expect(found, title).to.deep.equal([403, 'endpoint_not_allowed'])
          else expect(response.status, `${title}: ${text}`).not.to.be.oneOf([401, 403, 500])
        }
      })
    }

    it('are in the matrix of the guide', async () => {
      const { body } = await gateway.call('GET', '/openapi.json')
      expect(readGenerated('docs/guides/operators.md', 'roles')).to.equal(writeRoleMatrix(body))
    })
  })

  it('get a key that is shown once, and is not listed', async () => {
    const { status, body } = await gateway.call(
      'POST',
      '/admin/operators',
      { name: 'Dora', role: 'auditor' },
      AS_ADMIN,
    )
    expect(status).to.equal(201)
    expect(body.data).to.include({ name: 'Dora', role: 'auditor' })
    expect(body.data.id).to.match(/^operator_[0-9A-Za-z]{24}$/)
    expect(body.data.key).to.match(/^op_[0-9A-Za-z]{43}$/)

    const { key, ...shown } = body.data
    const one = await gateway.call('GET', `/admin/operators/${shown.id}`, undefined, AS_ADMIN)
    expect(one.body.data).to.deep.equal(shown)
    const all = await gateway.call('GET', '/admin/operators', undefined, AS_ADMIN)
    expect(all.body.data).to.deep.include({ ...shown, last_used_at: null })
    expect(JSON.stringify(all.body)).not.to.match(/op_|hash|[0-9a-f]{64}/)
  })

  it('are the actors of their changes, with the name that they had then', async () => {
    const operator = await newOperator(gateway, 'admin', 'Emmy')
    const created = await operator.call('POST', '/admin/users', { name: 'Ada', plan: 'paid' })
    const path = `/admin/users/${created.body.data.id}`
    await gateway.call('PATCH', `/admin/operators/${operator.id}`, { name: 'Emmy N.' }, AS_ADMIN)
    await operator.call('PATCH', path, { plan: 'free' })
    const issued = await operator.call('POST', `${path}/keys`)

    const headers = { authorization: `Bearer ${issued.body.data.key}` }
    const { data } = (await gateway.call('GET', '/v1/audit', undefined, headers)).body
    const actor = { type: 'operator', id: operator.id }
    expect(data.map((entry: { actor: unknown }) => entry.actor)).to.deep.equal([
      { ...actor, name: 'Emmy N.' },
      { ...actor, name: 'Emmy N.' },
      { ...actor, name: 'Emmy' },
    ])
  })

  it('have a new role, or no access, as soon as the change is answered', async () => {
    const operator = await newOperator(gateway, 'admin')
    const users = () => operator.call('GET', '/admin/users')
    const create = () => operator.call('POST', '/admin/users', { name: 'Ada', plan: 'paid' })
    expect((await create()).status).to.equal(201)

    const path = `/admin/operators/${operator.id}`
    const changed = await gateway.call('PATCH', path, { role: 'auditor' }, AS_ADMIN)
    expect(changed.body.data.role).to.equal('auditor')
    expect((await create()).status).to.equal(403)
    expect((await users()).status).to.equal(200)

    expect((await gateway.call('DELETE', path, undefined, AS_ADMIN)).status).to.equal(200)
    expect((await users()).status).to.equal(401)
    for (const method of ['GET', 'DELETE'])
      expect((await gateway.call(method, path, undefined, AS_ADMIN)).status).to.equal(404)
  })

  it('are created once by requests with the same Idempotency-Key', async () => {
    const create = () =>
      gateway.call(
        'POST',
        '/admin/operators',
        { name: 'Fay', role: 'editor' },
        { ...AS_ADMIN, 'idempotency-key': 'one-operator' },
      )
    const first = await create()
    const second = await create()
    expect(second.body).to.deep.equal(first.body)
    expect(second.headers.get('idempotent-replayed')).to.equal('true')
    const { data } = (await gateway.call('GET', '/admin/operators', undefined, AS_ADMIN)).body
    expect(data.filter(({ name }: { name: string }) => name === 'Fay')).to.have.length(1)
  })

  it('are refused with an unknown field or role, by name', async () => {
    const send = async (body: unknown) =>
      (await gateway.call('POST', '/admin/operators', body, AS_ADMIN)).body.error.message
    expect(await send({ name: 'G', role: 'owner' })).to.match(/role/)
    expect(await send({ name: 'G', role: 'admin', roles: [] })).to.match(/roles/)
    expect(await send({ role: 'admin' })).to.match(/name/)
  })

  it('cannot use their keys as users, nor users theirs as operators', async () => {
    const operator = await newOperator(gateway, 'admin')
    const user = await newUser(gateway)
    expect((await operator.call('GET', '/v1/routing-rules')).status).to.equal(401)
    expect((await user.call('GET', '/admin/users')).status).to.equal(401)
  })

  it('serve without an ADMIN_KEY, and survive a restart', async () => {
    const dataDir = await makeFolder()
    const first = await startGateway({}, { dataDir })
    const operator = await newOperator(first, 'editor')
    await first.stop()
    const second = await startGateway({ ADMIN_KEY: '' }, { dataDir })
    expect((await second.call('GET', '/admin/users', undefined, operator.headers)).status).to.equal(200)
    expect((await second.call('GET', '/admin/users', undefined, AS_ADMIN)).status).to.equal(401)
    await second.stop()
  })

  it('are limited by address when their keys are wrong, and served when they are right', async () => {
    const limited = await startGateway({ CONFIG: '' })
    const operator = await newOperator(limited, 'auditor')
    const wrong = { authorization: `Bearer op_${'x'.repeat(43)}` }
    const statuses = new Set<number>()
    for (let n = 0; n < 40; n++)
      statuses.add((await limited.call('GET', '/admin/users', undefined, wrong)).status)
    expect([...statuses]).to.deep.equal([401, 429])
    expect((await limited.call('GET', '/admin/users', undefined, operator.headers)).status).to.equal(200)
    await limited.stop()
  })
})

function listAdminEndpoints(document: {
  readonly paths: Record<string, Record<string, Record<string, unknown>>>
}): readonly AdminEndpoint[] {
  return Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.entries(operations)
      .filter(([, operation]) => path.startsWith('/admin') || operation['x-operator-role'] !== undefined)
      .map(([method, operation]) => ({
        method: method.toUpperCase(),
        path,
        role: operation['x-operator-role'] as Role,
        scope: operation['x-operator-scope'] as AdminEndpoint['scope'],
        description: String(operation.description),
      })),
  )
}
