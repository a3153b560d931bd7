import { expect } from 'chai'
import { readToEnd } from '../../core/event-log/streams.ts'
import { AS_ADMIN, type RunningGateway } from '../support/gateway.ts'
import {
  createRule as create,
  startOnFolder,
  startOnServer,
  succeed,
  type TwoNodes,
} from '../support/two-nodes.ts'
import { waitUntil } from '../support/wait.ts'

describe('two nodes', () => {
  describe('on the embedded log', () => shareOneLog(startOnFolder))
  describe('on EventStoreDB', () => shareOneLog(startOnServer))
})

function shareOneLog(start: () => Promise<TwoNodes>): void {
  let cluster: TwoNodes
  let first: RunningGateway
  let second: RunningGateway

  before(async () => {
    cluster = await start()
    ;[first, second] = cluster.nodes
  })
  after(() => cluster.stop())

  it('apply all changes of 64 concurrent writers to the rules of one user', async () => {
    const before = await list(first)
    const shared = await create(first, 'shared', 'warn')
    const write = async (writer: number) => {
      const node = cluster.nodes[writer % 2]!
      const own = await create(node, `writer ${writer}`, 'warn')
      await succeed(node.call('PATCH', `/v1/firewall-rules/${own.id}`, { pattern: `pattern ${writer}` }))
      await succeed(node.call('PATCH', `/v1/firewall-rules/${shared.id}`, { priority: writer }))
      if (writer % 4 === 0) await succeed(node.call('DELETE', `/v1/firewall-rules/${own.id}`))
      return own
    }
    const writers = Array.from({ length: 64 }, (_, writer) => writer)
    const own = await Promise.all(writers.map(write))
    await agree()

    const rules = await list(second)
    const byId = new Map(rules.map((rule) => [rule.id, rule]))
    expect(new Set(own.map(({ id }) => id)).size).to.equal(64)
    expect(rules).to.have.length(before.length + 1 + 48)
    for (const writer of writers) {
      const rule = byId.get(own[writer]!.id)
      if (writer % 4 === 0) expect(rule).to.equal(undefined)
      else expect(rule).to.include({ name: `writer ${writer}`, pattern: `pattern ${writer}` })
    }
    const etag = (await second.call('GET', `/v1/firewall-rules/${shared.id}`)).headers.get('etag')
    expect(etag).to.equal('"65"')
    await expectOrder()
  })

  it('assign unique ids when both create users and rules concurrently', async () => {
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, n) => {
        const node = cluster.nodes[n % 2]!
        return n % 4 < 2
          ? create(node, `number ${n}`, 'warn')
          : succeed(node.call('POST', '/admin/users', { name: `user ${n}`, plan: 'paid' }, AS_ADMIN))
      }),
    )

    expect(new Set(answers.map(({ id }) => id)).size).to.equal(40)
  })

  it('refuse the second of two concurrent edits with If-Match', async () => {
    const { id } = await create(first, 'edited', 'warn')
    await agree()
    const path = `/v1/firewall-rules/${id}`
    const [one, two] = await Promise.all(cluster.nodes.map((node) => node.call('GET', path)))
    const ifMatch = { 'if-match': one!.headers.get('etag') ?? '' }
    expect(two!.headers.get('etag')).to.equal(ifMatch['if-match'])

    const answers = await Promise.all([
      first.call('PATCH', path, { name: 'by the first' }, ifMatch),
      second.call('PATCH', path, { name: 'by the second' }, ifMatch),
    ])
    expect(answers.map(({ status }) => status).toSorted()).to.deep.equal([200, 412])

    await succeed(first.call('PATCH', path, { name: 'without asking, first' }))
    await succeed(second.call('PATCH', path, { name: 'without asking, later' }))
    await agree()
    expect((await first.call('GET', path)).body.data.name).to.equal('without asking, later')
    const names = await namesOf(id)
    expect(names.slice(-2)).to.deep.equal(['without asking, first', 'without asking, later'])
    expect(names).to.have.length(4)
  })

  /** Resolves once both nodes have the same rules. */
  async function agree(): Promise<void> {
    await waitUntil(async () => JSON.stringify(await list(first)) === JSON.stringify(await list(second)))
  }

  /** The names that the rule has had, in log order. */
  async function namesOf(ruleId: number): Promise<unknown[]> {
    const names: unknown[] = []
    const log = await cluster.openLog()
    for await (const { data } of readToEnd(log)) {
      const { content, changes } = data as Record<string, { name?: string } | undefined>
      if (data.ruleId === ruleId) names.push((content ?? changes)?.name)
    }
    await log.close()
    return names.filter(Boolean)
  }

  async function expectOrder(): Promise<void> {
    const next = new Map<string, number>()
    const log = await cluster.openLog()
    for await (const { stream, revision } of readToEnd(log)) {
      expect(revision).to.equal(next.get(stream) ?? 0)
      next.set(stream, revision + 1)
    }
    await log.close()
  }
}

async function list(node: RunningGateway): Promise<{ id: number }[]> {
  return succeed(node.call('GET', '/v1/firewall-rules'))
}
