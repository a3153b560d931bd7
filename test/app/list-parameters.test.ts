import { expect } from 'chai'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import { newUser } from '../support/new-user.ts'
import { asAdmin, firewallRule, newPolicy, routingRule } from '../support/policies.ts'

describe('lists of operators', () => {
  let gateway: RunningGateway
  before(async () => {
    gateway = await startGateway()
  })
  after(() => gateway.stop())

  const read = async (path: string) => (await asAdmin(gateway, 'GET', path)).body

  it('of users and groups have only those with the given ids', async () => {
    const users = [await newUser(gateway), await newUser(gateway), await newUser(gateway)]
    const [a, , c] = users.map(({ id }) => id)
    const found = (await read(`/admin/users?id=${c}&id=${a}&id=999999`)).data
    expect(found.map(({ id }: { id: number }) => id)).to.deep.equal([a, c])
    const group = (await asAdmin(gateway, 'POST', '/admin/groups', { name: 'Support' })).body.data
    await asAdmin(gateway, 'POST', '/admin/groups', { name: 'Sales' })
    expect((await read(`/admin/groups?id=${group.id}`)).data).to.deep.equal([group])
    expect((await read(`/admin/groups?id=${group.id}&q=sales`)).data).to.deep.equal([])
    const answer = await asAdmin(gateway, 'GET', '/admin/groups?id=x')
    expect([answer.status, answer.headers.get('x-error-code')]).to.deep.equal([400, 'invalid_value'])
  })

  it('of policies count their rules if they are asked to', async () => {
    const policy = await newPolicy(gateway, {
      firewall: [firewallRule(), firewallRule({ name: 'Second' })],
      routing: [routingRule({ set_mode: 'cost' })],
    })
    const [counted] = (await read('/admin/policies?rule_counts=true')).data
    expect(counted).to.include({ id: policy.id, firewall_rules: 2, routing_rules: 1, tool_rules: 0 })
    expect((await read('/admin/policies')).data[0]).not.to.have.property('firewall_rules')
    await policy.remove()
  })

  it('of usage name users, keys and rules, also those that are gone', async () => {
    const user = await newUser(gateway, 'paid')
    const policy = await newPolicy(gateway, {
      name: 'House',
      firewall: [firewallRule({ name: 'No secrets', pattern: 'secret', action: 'warn' })],
    })
    const messages = [{ role: 'user', content: 'a secret' }]
    await user.call('POST', '/v1/chat/completions', { model: 'auto', messages })
    await policy.remove()
    const namesBy = async (dimension: string) =>
      (await read(`/admin/usage?names=true&group_by=${dimension}`)).data.map(
        ({ name }: { name: string }) => name,
      )
    expect(await namesBy('rule')).to.deep.equal(['No secrets (House)'])
    expect(await namesBy('user')).to.deep.equal(['someone'])
    expect((await namesBy('key'))[0]).to.match(/ \(someone\)$/)
    await asAdmin(gateway, 'DELETE', `/admin/users/${user.id}`)
    expect(await namesBy('user')).to.deep.equal([null])
  })
})
