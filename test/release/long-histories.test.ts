import { cp } from 'node:fs/promises'
import { expect } from 'chai'
import { openSqliteLog } from '../../core/event-log/sqlite/sqlite-log.ts'
import { generateLog } from '../bench/generate-log.ts'
import { routingRuleBody } from '../support/bodies.ts'
import { startEventStore } from '../support/eventstore/server.ts'
import { makeFolder } from '../support/folders.ts'
import { AS_ADMIN, type RunningGateway, startGateway, startGatewayOnFiles } from '../support/gateway.ts'
import { newUser } from '../support/new-user.ts'

const KEY = 'tr_1'
/** About one user, after their id, name and key; a rule that is new takes two positions. */
const EVENTS = 700

describe('a long history', () => {
  /** Reads it in a thread of its own. */
  let gateway: RunningGateway
  /** Reads it in the thread that serves: no other one can open the log that it was given. */
  let other: RunningGateway

  before(async () => {
    const folder = await makeFolder()
    await generateLog(folder, 1, EVENTS)
    const copy = await makeFolder()
    await cp(folder, copy, { recursive: true })
    gateway = await startGatewayOnFiles({}, { dataDir: folder, demoKey: KEY })
    other = await startGateway(
      {},
      {
        dataDir: copy,
        demoKey: KEY,
        log: () => openSqliteLog({ directory: copy }),
      },
    )
  })
  after(async () => {
    await gateway?.stop()
    await other?.stop()
  })

  it('gives the same answers from its thread as from the one that serves', async () => {
    for (const path of [
      '/v1/firewall-rules?as_of=900',
      '/v1/routing-rules?as_of=30',
      '/v1/firewall-rules/3?as_of=900',
      '/v1/firewall-rules/3?as_of=5',
      '/v1/firewall-rules?as_of=5000',
      '/v1/firewall-rules?as_of=2999-01-01',
      '/v1/rules/diff?from=200&to=1000',
      '/v1/rules/diff?from=5',
      '/v1/rules/diff?from=5000',
      '/v1/firewall-rules/3/history',
      '/v1/routing-rules/3/history',
      '/v1/audit?limit=30',
      '/v1/audit?kind=firewall&since=100&until=500',
      '/v1/audit?actor=nobody',
      '/v1/audit?cursor=bad',
    ]) {
      const [answer, expected] = await Promise.all([gateway.call('GET', path), other.call('GET', path)])
      expect(answer.status, path).to.equal(expected.status)
      const withoutId = (body: object) => JSON.stringify(body).replaceAll(/req_\w+/g, 'req')
      expect(withoutId(answer.body), path).to.equal(withoutId(expected.body))
      for (const name of ['content-type', 'content-length', 'etag'])
        expect(answer.headers.get(name), `${path} ${name}`).to.equal(expected.headers.get(name))
    }
  })

  it('includes a change that was just made', async () => {
    const { body } = await gateway.call('POST', '/v1/routing-rules', routingRuleBody({ name: 'The newest' }))
    const { id } = body.data
    const audit = await gateway.call('GET', '/v1/audit?limit=1')
    expect(audit.body.data[0]).to.deep.include({ id, event: 'created' })
    const { position } = audit.body.data[0]
    const list = await gateway.call('GET', `/v1/routing-rules?as_of=${position}`)
    expect(list.body.data.map((rule: { name: string }) => rule.name)).to.include('The newest')
    const history = await gateway.call('GET', `/v1/routing-rules/${id}/history`)
    expect(history.body.data).to.have.length(1)
    const diff = await gateway.call('GET', `/v1/rules/diff?from=${position - 1}&to=${position}`)
    expect(diff.body.data.routing.added).to.have.length(1)
  })

  it('can be read by operators, too', async () => {
    const list = await gateway.call('GET', '/admin/users/1/firewall-rules?as_of=900', undefined, AS_ADMIN)
    const own = await gateway.call('GET', '/v1/firewall-rules?as_of=900')
    expect(list.body).to.deep.equal(own.body)
  })
})

describe('a long history on EventStoreDB', () => {
  it('is read by a thread with a client of its own', async () => {
    const server = await startEventStore()
    const gateway = await startGateway({ EVENTSTORE_URL: server.connectionString })
    const user = await newUser(gateway)
    const create = { kind: 'routing', op: 'create', data: routingRuleBody() }
    const operations = Array.from({ length: 250 }, () => create)
    for (let n = 0; n < 2; n++)
      expect((await user.call('POST', '/v1/rules/batch', { operations })).status).to.equal(200)
    const { body } = await user.call('GET', '/v1/audit?kind=routing&limit=251')
    const [newest, first] = [body.data[0], body.data[250]]
    expect(newest).to.include({ event: 'created', revision: 1 })
    const listAsOf = async ({ position }: { position: number }) =>
      (await user.call('GET', `/v1/routing-rules?as_of=${position}`)).body.data
    expect(await listAsOf(first)).to.have.length(250)
    expect(await listAsOf(newest)).to.have.length(500)
    await gateway.stop()
    await server.stop()
  })
})
