import { expect } from 'chai'
import { chatBody, firewallRuleBody } from '../support/bodies.ts'
import { AS_ADMIN, type RunningGateway, startGateway } from '../support/gateway.ts'
import { newUser, type TestUser } from '../support/new-user.ts'
import { newOperator } from '../support/operators.ts'

const CHAT = '/v1/chat/completions'

describe('the figures of requests', () => {
  let gateway: RunningGateway
  let user: TestUser

  before(async () => {
    gateway = await startGateway()
    user = await newUser(gateway)
    const rule = firewallRuleBody({ name: 'No falcons', pattern: 'falcon', action: 'block' })
    expect((await user.call('POST', '/v1/firewall-rules', rule)).status).to.equal(201)
    for (const content of ['a', 'b', 'c', 'a falcon']) await user.call('POST', CHAT, chatBody(content))
    await (await newUser(gateway)).call('POST', CHAT, chatBody('of somebody else'))
  })

  after(() => gateway.stop())

  it('are those of the requests that the list has', async () => {
    const { body: list } = await user.call('GET', '/v1/requests')
    const answered = list.data.filter(({ status }: { status: number }) => status === 200)
    const latencies = answered.map(({ latency_ms }: { latency_ms: number }) => latency_ms)
    latencies.sort((a: number, b: number) => a - b)
    const cost = answered.reduce((sum: number, { cost_usd }: { cost_usd: number }) => sum + cost_usd, 0)
    const { status, body } = await user.call('GET', '/v1/request-figures')
    expect(status, JSON.stringify(body)).to.equal(200)
    const { cost_usd, ...figures } = body.data
    expect(cost_usd).to.be.closeTo(cost, 1e-9)
    expect(figures).to.deep.equal({
      ...{ requests: 4, is_truncated: false, errors: 1, unknown_costs: 0 },
      latency_ms: { p50: latencies[1], p90: latencies[2], p99: latencies[2] },
      first_token_ms: null,
    })
  })

  it('take the filters of the list', async () => {
    const read = async (query: string, headers = AS_ADMIN) =>
      (await gateway.call('GET', `/admin/request-figures${query}`, undefined, headers)).body.data
    expect(await read('')).to.include({ requests: 5, errors: 1 })
    expect(await read(`?user=${user.id}&status=200`)).to.include({ requests: 3, errors: 0 })
    expect(await read('?q=firewall_blocked')).to.deep.include({ requests: 1, errors: 1, latency_ms: null })
    expect(await read('?model=no-such-model')).to.deep.include({ requests: 0, cost_usd: 0, latency_ms: null })
    const invalid = await gateway.call('GET', '/admin/request-figures?status=7', undefined, AS_ADMIN)
    expect(invalid.status).to.equal(400)
  })

  it('of a scope are those of its groups, and users see none but theirs', async () => {
    expect((await user.call('GET', '/admin/request-figures')).status).to.equal(401)
    const group = await gateway.call('POST', '/admin/groups', { name: 'Empty' }, AS_ADMIN)
    const scope = { groups: [group.body.data.id] }
    const operator = await newOperator(gateway, 'auditor', 'Ada', { scope })
    const { body } = await operator.call('GET', '/admin/request-figures')
    expect(body.data.requests).to.equal(0)
  })
})
