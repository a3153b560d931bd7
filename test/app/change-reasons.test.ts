import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { expect } from 'chai'
import { firewallRuleBody, routingRuleBody } from '../support/bodies.ts'
import { runCommand } from '../support/command.ts'
import { createLogFolder } from '../support/data-folder.ts'
import { makeFolder } from '../support/folders.ts'
import { AS_ADMIN, type RunningGateway, startGateway } from '../support/gateway.ts'
import { newUser } from '../support/new-user.ts'

const REASON = 'Ticket 4711: Verträge bleiben in der EU ✓'

/** As clients send it: fetch accepts bytes only, one per character. */
const encode = (reason: string) => ({ 'x-change-reason': Buffer.from(reason).toString('latin1') })

describe('reasons of changes', () => {
  let gateway: RunningGateway
  before(async () => {
    gateway = await startGateway()
  })
  after(() => gateway.stop())

  it('are shown in the history of a rule and in the audit trail', async () => {
    const user = await newUser(gateway)
    const made = await user.call('POST', '/v1/firewall-rules', firewallRuleBody(), encode(REASON))
    const one = `/v1/firewall-rules/${made.body.data.id}`
    await user.call('PATCH', one, { priority: 3 })
    await user.call('DELETE', one, undefined, { 'x-change-reason': 'Not needed' })
    await gateway.call(
      'PATCH',
      `/admin/users/${user.id}`,
      { plan: 'free' },
      { ...AS_ADMIN, ...encode('Unpaid') },
    )

    const reasons = async (place: string) =>
      (await user.call('GET', place)).body.data.map(({ reason }: { reason?: string }) => reason)
    expect((await reasons('/v1/audit')).slice(0, 4)).to.deep.equal([
      'Unpaid',
      'Not needed',
      undefined,
      REASON,
    ])
    await user.setPlan('paid')
    expect(await reasons(`${one}/history`)).to.deep.equal([REASON, undefined, 'Not needed'])
  })

  it('have 1 to 500 characters', async () => {
    const user = await newUser(gateway)
    const send = (reason: string) => user.call('POST', '/v1/routing-rules', routingRuleBody(), encode(reason))
    expect((await send('ä'.repeat(500))).status).to.equal(201)
    for (const reason of ['x'.repeat(501), ' ', 'a\tb']) {
      const { status, headers, body } = await send(reason)
      expect([status, headers.get('x-error-code')]).to.deep.equal([400, 'invalid_value'])
      expect(body.error.message).to.contain('x-change-reason must have 1 to 500 characters')
    }
  })

  it('are described for every change, and for no other request', async () => {
    const { body } = await gateway.call('GET', '/openapi.json')
    const describes = (route: string, method: string) =>
      (body.paths[route][method].parameters ?? []).some(
        ({ name }: { name: string }) => name === 'x-change-reason',
      )
    expect(describes('/v1/routing-rules', 'post')).to.equal(true)
    expect(describes('/v1/rules/batch', 'post')).to.equal(true)
    expect(describes('/admin/users/{id}/keys', 'post')).to.equal(true)
    expect(describes('/admin/users/{id}/budget', 'delete')).to.equal(true)
    expect(describes('/v1/simulate', 'post')).to.equal(false)
    expect(describes('/v1/chat/completions', 'post')).to.equal(false)
  })

  describe('that are required', () => {
    let strict: RunningGateway
    let CONFIG: string

    before(async () => {
      CONFIG = path.join(await makeFolder(), 'settings.yaml')
      await writeFile(CONFIG, 'audit: { require_reason: true }')
      strict = await startGateway({ CONFIG })
    })
    after(() => strict.stop())

    it('are demanded of operators before anything is changed', async () => {
      const create = (headers: Record<string, string> = {}) =>
        strict.call('POST', '/admin/users', { name: 'Ada', plan: 'paid' }, { ...AS_ADMIN, ...headers })
      const count = async () =>
        (await strict.call('GET', '/admin/users', undefined, AS_ADMIN)).body.data.length
      const before = await count()
      const { status, headers, body } = await create()
      expect([status, headers.get('x-error-code')]).to.deep.equal([400, 'reason_required'])
      expect(body.error.message).to.contain('in the header x-change-reason')
      expect(await count()).to.equal(before)
      expect((await create(encode(REASON))).status).to.equal(201)
      expect(await count()).to.equal(before + 1)
    })

    it('are not demanded of users', async () => {
      expect((await strict.call('POST', '/v1/routing-rules', routingRuleBody())).status).to.equal(201)
    })

    it('are demanded of commands', async () => {
      const environment = { DATA_DIR: await createLogFolder(), CONFIG }
      const add = ['users', 'add', '--name', 'Ada', '--plan', 'paid']
      const refused = await runCommand(add, environment)
      expect(refused.code).to.equal(1)
      expect(refused.stderr).to.contain('Say why you make this one, with --reason')
      const added = await runCommand([...add, '--reason', 'First user'], environment)
      expect(added.code).to.equal(0)
      const { stdout } = await runCommand(['log', 'export'], environment)
      expect(stdout).to.contain('"reason":"First user"')
    })
  })
})
