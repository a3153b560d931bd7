import { expect } from 'chai'
import { chatBody, firewallRuleBody, routingRuleBody } from '../support/bodies.ts'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import { newUser } from '../support/new-user.ts'
import { newOperator, type TestOperator } from '../support/operators.ts'

describe('rules of users that operators change', () => {
  let gateway: RunningGateway
  let editor: TestOperator
  before(async () => {
    gateway = await startGateway()
    editor = await newOperator(gateway, 'editor', 'Edith')
  })
  after(() => gateway.stop())

  it('are the rules of the user, apply to the next request, and name the operator in their history', async () => {
    const user = await newUser(gateway)
    const path = `/admin/users/${user.id}/firewall-rules`
    const rule = firewallRuleBody({ pattern: 'forbidden', action: 'block' })
    const made = await editor.call('POST', path, rule, { 'x-change-reason': 'Incident 7' })
    expect(made.status).to.equal(201)
    expect(made.body.data).to.include({ user_id: user.id, pattern: 'forbidden' })
    expect((await user.call('GET', '/v1/firewall-rules')).body.data).to.deep.equal([made.body.data])
    const ask = () => user.call('POST', '/v1/chat/completions', chatBody('forbidden'))
    expect((await ask()).status).to.equal(403)

    const one = `${path}/${made.body.data.id}`
    await editor.call('PATCH', one, { is_enabled: false })
    expect((await ask()).status).to.equal(200)
    const { data } = (await user.call('GET', `/v1/firewall-rules/${made.body.data.id}/history`)).body
    expect(data[0].reason).to.equal('Incident 7')
    for (const { actor } of data)
      expect(actor).to.deep.equal({ type: 'operator', id: editor.id, name: 'Edith' })
    expect((await editor.call('GET', `${one}/history`)).body.data).to.deep.equal(data)
    expect((await editor.call('POST', `${one}/revert`, { revision: 1 })).body.data.is_enabled).to.equal(true)
    expect((await editor.call('DELETE', one)).status).to.equal(200)
  })

  it('are changed in batches, compared, and read as of a time', async () => {
    const user = await newUser(gateway, 'free')
    const path = `/admin/users/${user.id}`
    const operations = [
      { kind: 'routing', op: 'create', data: routingRuleBody() },
      { kind: 'firewall', op: 'create', data: firewallRuleBody() },
    ]
    const batch = await editor.call('POST', `${path}/rules/batch`, { operations })
    expect(batch.status).to.equal(200)
    expect(batch.body.data).to.have.length(2)
    expect((await editor.call('GET', `${path}/routing-rules?as_of=1`)).body.data).to.deep.equal([])
    const diff = (await editor.call('GET', `${path}/rules/diff?from=1`)).body.data
    expect([diff.routing.added.length, diff.firewall.added.length]).to.deep.equal([1, 1])
  })

  it('are not found for a user who does not exist or another user', async () => {
    const [ada, bob] = [await newUser(gateway), await newUser(gateway)]
    const made = await editor.call('POST', `/admin/users/${ada.id}/routing-rules`, routingRuleBody())
    const { id } = made.body.data
    expect((await editor.call('GET', `/admin/users/${bob.id}/routing-rules/${id}`)).status).to.equal(404)
    expect((await editor.call('GET', '/admin/users/999999/routing-rules')).status).to.equal(404)
    const created = await editor.call('POST', '/admin/users/999999/routing-rules', routingRuleBody())
    expect(created.status).to.equal(404)
  })
})
