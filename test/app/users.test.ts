import { expect } from 'chai'
import { chatBody, firewallRuleBody, routingRuleBody } from '../support/bodies.ts'
import { AS_ADMIN, type RunningGateway, startGateway } from '../support/gateway.ts'
import { newUser } from '../support/new-user.ts'

describe('users', () => {
  let gateway: RunningGateway
  before(async () => {
    gateway = await startGateway()
  })
  after(() => gateway.stop())

  const asAdmin = (method: string, path: string, body?: unknown) => gateway.call(method, path, body, AS_ADMIN)

  it('are read and renamed; a change of the name alone keeps the limits', async () => {
    const { id, keyId, key } = await newUser(gateway)
    const path = `/admin/users/${id}`
    await asAdmin('PATCH', path, { requests_per_minute: 7 })
    const renamed = await asAdmin('PATCH', path, { name: 'Ada Lovelace' })
    expect(renamed.body.data).to.include({ id, name: 'Ada Lovelace', requests_per_minute: 7 })
    const { status, body } = await asAdmin('GET', path)
    expect(status).to.equal(200)
    expect(body.data).to.deep.equal(renamed.body.data)
    expect(body.data.keys[0].id).to.equal(keyId)

    const headers = { authorization: `Bearer ${key}` }
    const { data } = (await gateway.call('GET', '/v1/audit', undefined, headers)).body
    expect(data[0]).to.include({ kind: 'user', event: 'renamed' })
    expect([data[0].before.name, data[0].after.name]).to.deep.equal(['someone', 'Ada Lovelace'])
    expect((await asAdmin('GET', '/admin/users/999999')).status).to.equal(404)
  })

  it('are found by a part of their name, or by their id', async () => {
    const names = ['Grace Hopper', 'Grace Kelly', 'grace']
    const ids: number[] = []
    for (const name of names)
      ids.push((await asAdmin('POST', '/admin/users', { name, plan: 'paid' })).body.data.id)
    const find = async (query: string) => (await asAdmin('GET', `/admin/users?${query}`)).body
    const idsOf = ({ data }: { data: { id: number }[] }) => data.map(({ id }) => id)
    expect(idsOf(await find('q=GRACE'))).to.deep.equal(ids)
    expect(idsOf(await find(`q=${ids[1]}`))).to.deep.equal([ids[1]])
    expect(await find('q=nobody')).to.deep.equal({ data: [], next_cursor: null })
    const first = await find('q=grace&limit=2')
    expect(idsOf(first)).to.deep.equal(ids.slice(0, 2))
    const second = await find(`q=grace&limit=2&cursor=${first.next_cursor}`)
    expect([idsOf(second), second.next_cursor]).to.deep.equal([[ids[2]], null])
  })

  it('are deleted with their keys, while their records stay', async () => {
    const user = await newUser(gateway)
    await user.call('POST', '/v1/firewall-rules', firewallRuleBody())
    const chat = () => user.call('POST', '/v1/chat/completions', chatBody('Hello'))
    expect((await chat()).status).to.equal(200)
    const path = `/admin/users/${user.id}`
    expect((await asAdmin('DELETE', path)).body).to.deep.equal({ success: true })

    expect((await chat()).status).to.equal(401)
    for (const [method, place, body] of [
      ['GET', path],
      ['PATCH', path, { plan: 'free' }],
      ['DELETE', path],
      ['GET', `${path}/keys`],
      ['POST', `${path}/keys`],
      ['DELETE', `/admin/keys/${user.keyId}`],
    ] as const)
      expect((await asAdmin(method, place, body)).status, `${method} ${place}`).to.equal(404)
    const { data } = (await asAdmin('GET', '/admin/users')).body
    expect(data.map(({ id }: { id: number }) => id)).not.to.include(user.id)
    expect((await asAdmin('GET', `/admin/requests?user=${user.id}`)).body.data).to.have.length(1)
  })

  it('that are downgraded keep their rules, and the answer lists those that stop applying', async () => {
    const user = await newUser(gateway)
    const guard = await user.call('POST', '/v1/firewall-rules', firewallRuleBody({ name: 'No secrets' }))
    await user.call('POST', '/v1/firewall-rules', firewallRuleBody({ is_enabled: false }))
    const route = await user.call('POST', '/v1/routing-rules', routingRuleBody({ name: 'Cheap' }))
    const { body } = await user.setPlan('free')
    expect(body.data.plan).to.equal('free')
    expect(body.warnings).to.deep.equal([
      {
        code: 'plan',
        message: `Firewall rule ${guard.body.data.id} "No secrets" does not apply any more: custom rules require a paid plan.`,
      },
      {
        code: 'plan',
        message: `Routing rule ${route.body.data.id} "Cheap" does not apply any more: custom rules require a paid plan.`,
      },
    ])
    expect((await user.setPlan('free')).body).not.to.have.property('warnings')
    expect((await user.setPlan('paid')).body).not.to.have.property('warnings')
  })
})
