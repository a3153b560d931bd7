import { expect } from 'chai'
import { DEFAULT_PLUGIN_NAMES } from '../../config/settings/built-in-names.ts'
import { type Answer, AS_ADMIN, type RunningGateway, startGateway } from '../support/gateway.ts'
import { newOperator } from '../support/operators.ts'
import { startWithPlugins } from '../support/plugins.ts'

type Loose = Record<string, unknown>

const URL = 'https://mcp.example.com/mcp'

describe('tool servers', () => {
  let gateway: RunningGateway
  before(async () => {
    gateway = await startGateway()
  })
  after(() => gateway.stop())

  const call = (at: RunningGateway, method: string, path = '', body?: unknown, headers: object = {}) =>
    at.call(method, `/admin/tool-servers${path}`, body, { ...AS_ADMIN, ...headers })
  const create = (body: Loose, at = gateway) => call(at, 'POST', '', { url: URL, ...body })
  const expectError = ({ status, headers, body }: Answer, expected: [number, string], message: RegExp) => {
    expect([status, headers.get('x-error-code')], JSON.stringify(body)).to.deep.equal(expected)
    expect(body.error.message).to.match(message)
  }

  it('have safe defaults', async () => {
    const { body, status } = await create({ name: 'defaults' })
    expect(status).to.equal(201)
    expect(body.data).to.deep.include({
      ...{ name: 'defaults', url: URL, is_enabled: true, auth: { type: 'none' }, default: 'allow' },
      ...{ new_tools: 'pending', changed_tools: 'block', timeout_ms: null, max_concurrent: null },
    })
  })

  it('have a name of their own, which never changes', async () => {
    const answers = await Promise.all(Array.from({ length: 5 }, () => create({ name: 'once' })))
    expect(answers.map(({ status }) => status).sort()).to.deep.equal([201, 409, 409, 409, 409])
    const { body } = await call(gateway, 'GET', '?q=once')
    expect(body.data).to.have.length(1)
    expectError(await create({ name: 'once' }), [409, 'conflict'], /has the name once/)
    const { id } = body.data[0]
    expectError(
      await call(gateway, 'PATCH', `/${id}`, { name: 'twice' }),
      [400, 'invalid_value'],
      /cannot be changed/,
    )
    await call(gateway, 'DELETE', `/${id}`)
    expect((await create({ name: 'once' })).status).to.equal(201)
  })

  it('never take or show a secret', async () => {
    const secret = 'sk-live-0123456789'
    const refusals: [object, RegExp][] = [
      [{ type: 'bearer', secret_ref: secret }, /must be env:NAME or file:PATH/],
      [{ type: 'bearer', secret_ref: 'env:PATH' }, /mcp\.secret_variables allows \(MCP_\*\)/],
      [{ type: 'bearer', secret_ref: 'file:/etc/shadow' }, /mcp\.secret_folder/],
      [{ type: 'bearer' }, /auth\.secret_ref is required/],
      [{ type: 'none', secret_ref: 'env:MCP_A' }, /no meaning/],
      [{ type: 'header', header: 'host', secret_ref: 'env:MCP_A' }, /x-api-key/],
      [{ type: 'bearer', token: secret }, /token/],
      [
        { type: 'oauth', secret_ref: 'env:MCP_A', client_id: 'a', token_url: `https://a:${secret}@b` },
        /user name/,
      ],
    ]
    for (const [auth, message] of refusals) {
      const answer = await create({ name: 'secret', auth })
      expectError(answer, [400, answer.headers.get('x-error-code') ?? ''], message)
      expect(JSON.stringify(answer.body)).not.to.contain(secret)
    }
    const password = await create({ name: 'secret', url: `https://ada:${secret}@mcp.example.com` })
    expectError(password, [400, 'invalid_value'], /user name or password/)
    expect(JSON.stringify(password.body)).not.to.contain(secret)
  })

  it('have public addresses, unless the settings allow others', async () => {
    const hidden = [
      ...['http://10.0.0.1/mcp', 'http://192.168.1.1', 'http://169.254.169.254/latest', 'http://[fd00::1]/'],
      ...[
        'http://0x0a000001/',

        'http://[::ffff:10.0.0.1]/',
        'http://[64:ff9b::a00:1]/',
      ],
      ...['http://0.0.0.0/', 'http://100.64.0.1/', 'http://[fe80::1]/', 'http://172.16.0.1'],
    ]
    for (const url of hidden)
      expectError(await create({ name: 'private', url }), [400, 'invalid_value'], /private address/)
    // The gateway of the test listens on loopback.
    const local = ['http://127.0.0.1:9/mcp', 'http://[::1]:9/mcp', 'http://localhost:9/mcp']
    for (const [index, url] of local.entries())
      expect((await create({ name: `local-${index}`, url })).status, url).to.equal(201)

    const settings = 'mcp: { allow_private_addresses: [10.0.0.0/8] }\n'
    const other = await startWithPlugins({}, DEFAULT_PLUGIN_NAMES, settings)
    expect((await create({ name: 'ten', url: 'http://10.1.2.3/mcp' }, other)).status).to.equal(201)
    for (const url of ['http://127.0.0.1:9/', 'http://localhost/', 'http://192.168.1.1/'])
      expectError(await create({ name: 'private', url }, other), [400, 'invalid_value'], /private address/)
    await other.stop()
  })

  it('are changed by admins only, and not by operators with a scope', async () => {
    const group = await gateway.call('POST', '/admin/groups', { name: 'Group' }, AS_ADMIN)
    const as = async (role: 'auditor' | 'editor') => {
      const { key } = await newOperator(gateway, role)
      return { authorization: `Bearer ${key}` }
    }
    const body = { name: 'roles', url: URL }
    expect((await call(gateway, 'POST', '', body, await as('editor'))).status).to.equal(403)
    expect((await call(gateway, 'GET', '', undefined, await as('auditor'))).status).to.equal(200)
    const scope = { groups: [group.body.data.id] }
    const scoped = await gateway.call(
      'POST',
      '/admin/operators',
      { name: 'S', role: 'admin', scope },
      AS_ADMIN,
    )
    const authorization = `Bearer ${scoped.body.data.key}`
    expect((await call(gateway, 'GET', '', undefined, { authorization })).status).to.equal(403)
  })

  it('that are programs are in the settings file, and in the same lists', async () => {
    const settings = `mcp: { servers: { files: { command: [/usr/bin/env, --token=secret], default: deny } } }\n`
    const other = await startWithPlugins({}, DEFAULT_PLUGIN_NAMES, settings)
    const { id } = (await create({ name: 'other' }, other)).body.data
    const { body } = await call(other, 'GET')
    expect(body.data.map(({ id }: Loose) => id)).to.deep.equal([id, 'files'])
    expect(body.data[1]).to.deep.equal({
      ...{ id: 'files', name: 'files', url: null, program: 'env', is_enabled: true, auth: { type: 'none' } },
      ...{ default: 'deny', new_tools: 'pending', changed_tools: 'block', timeout_ms: null },
      max_concurrent: null,
    })
    const page = await call(other, 'GET', '?limit=1')
    const rest = await call(other, 'GET', `?limit=1&cursor=${page.body.next_cursor}`)
    expect(rest.body.data.map(({ id }: Loose) => id)).to.deep.equal(['files'])
    expect((await call(other, 'GET', '/files')).body.data).to.deep.equal(body.data[1])
    expect((await call(other, 'GET', '/files/tools')).body.data).to.deep.equal([])
    for (const [method, body] of [
      ['PATCH', { default: 'allow' }],
      ['DELETE', undefined],
    ] as const)
      expectError(await call(other, method, '/files', body), [409, 'conflict'], /settings file/)
    expectError(await create({ name: 'files' }, other), [409, 'conflict'], /program of the settings file/)
    expect((await call(other, 'GET', '/unknown')).status).to.equal(404)
    await other.stop()
  })
})
