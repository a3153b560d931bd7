import { expect } from 'chai'
import { captureOutput } from '../support/captured-output.ts'
import { startEventStoreCluster } from '../support/eventstore/cluster.ts'
import { startEventStore } from '../support/eventstore/server.ts'
import { makeFolder } from '../support/folders.ts'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import { BUILT_IN, installAll, listPlugins } from '../support/plugins.ts'
import { waitUntil } from '../support/wait.ts'

/** Appends an event per request, and counts the events that its state was folded from. */
const MARKS = `import { endpoint, StrictObject, Type, user } from 'signalbox'
const mark = StrictObject({ mark: Type.String() })
export default {
  name: 'marks',
  contract: 3,
  after: ['auth'],
  events: {
    types: { Marked: mark },
    initial: () => [],
    evolve: (state, { data }) => [...state, data.mark],
  },
  setup: (_, { events }) => ({
    endpoints: [
      endpoint({
        method: 'POST', path: '/v1/marks', access: user(), operationId: 'mark', summary: 'Marks.', tags: ['marks'],
        body: mark, responses: { 200: { description: 'Marked.' } },
        async handle({ body, author }) {
          await events.append('all', [{ type: 'Marked', data: body }], author)
          return { status: 200, body: {} }
        },
      }),
      endpoint({
        method: 'GET', path: '/v1/marks', access: user(), operationId: 'marks', summary: 'Marks.', tags: ['marks'],
        responses: { 200: { description: 'All marks.' } },
        handle: () => ({ status: 200, body: { data: events.state() } }),
      }),
    ],
  }),
}`

/** Leader kills; 20 with TEST_LONG=1. */
const KILLS = process.env.TEST_LONG ? 20 : 3

describe('the event log of several gateways', () => {
  it('gets one demo user, however many gateways start on it at once', async () => {
    const server = await startEventStore()
    const outputs = Array.from({ length: 4 }, () => captureOutput())
    const gateways = await Promise.all(
      outputs.map((output) => startGateway({ EVENTSTORE_URL: server.connectionString }, { output })),
    )

    expect(gateways.filter(({ demoKey }) => demoKey !== '')).to.have.length(1)
    const created = server.store.readStream('user-2', 0, 'forwards', 10)
    expect(created).to.deep.equal([])
    for (const gateway of gateways) await gateway.stop()
    await server.stop()
  })

  it('has every event of a plugin once after leaders were killed under its writers', async function () {
    this.timeout(60_000 + KILLS * 10_000)
    const folder = await installAll({ marks: MARKS })
    const CONFIG = await listPlugins(folder, [...BUILT_IN, 'marks'])
    const cluster = await startEventStoreCluster({ heartbeatMs: 100, electionMs: 100 })
    const environment = { CONFIG, EVENTSTORE_URL: cluster.discoverString }
    const first = await startGateway(environment, { pluginFolder: folder })
    const { demoKey } = first
    const second = await startGateway(environment, {
      pluginFolder: folder,
      demoKey,
      dataDir: await makeFolder(),
    })
    const acknowledged = new Set<string>()
    const doubtful = new Set<string>()
    let isWriting = true

    async function write(gateway: RunningGateway, writer: number): Promise<void> {
      for (let n = 0; isWriting; n++) {
        const mark = `${writer}-${n}`
        const { status, body } = await gateway.call('POST', '/v1/marks', { mark })
        if (status === 200) acknowledged.add(mark)
        else if (!body.error.message.includes('Nothing was changed')) doubtful.add(mark)
        if (status !== 200) await gateway.call('GET', '/readyz')
      }
    }

    const writers = Array.from({ length: 12 }, (_, n) => write(n % 2 === 0 ? first : second, n))
    for (let kill = 0; kill < KILLS; kill++) {
      const target = acknowledged.size + 30
      await waitUntil(() => acknowledged.size >= target)
      const leader = await cluster.leader()
      await leader.kill()
      await cluster.leader()
      await leader.start()
    }
    const target = acknowledged.size + 30
    await waitUntil(() => acknowledged.size >= target)
    isWriting = false
    await Promise.all(writers)

    const marksOf = async (gateway: RunningGateway): Promise<string[]> =>
      (await gateway.call('GET', '/v1/marks')).body.data
    await waitUntil(async () => (await marksOf(first)).length === (await marksOf(second)).length)
    const marks = await marksOf(first)
    expect(new Set(marks).size, 'doubled').to.equal(marks.length)
    for (const mark of acknowledged) expect(marks, 'missing').to.include(mark)
    for (const mark of marks) expect(acknowledged.has(mark) || doubtful.has(mark), mark).to.equal(true)
    await first.stop()
    await second.stop()
    await cluster.stop()
  })
})

describe('a start while a cluster has no leader', () => {
  for (const form of ['connectionString', 'discoverString'] as const) {
    it(`waits with a line every few seconds: ${form}`, async function () {
      this.timeout(180_000)
      const cluster = await startEventStoreCluster({ heartbeatMs: 50, electionMs: 50 })
      const [first, second, third] = cluster.nodes
      await first?.kill()
      await second?.kill()
      const output = captureOutput()
      const starting = startGateway({ EVENTSTORE_URL: cluster[form] }, { output })
      await output.contains('event log unavailable; retrying')
      expect(output.text()).to.contain('no node of the cluster answers as a leader')
      // The first host of the string stays away.
      await second?.start()
      expect(await cluster.leader()).to.be.oneOf([second, third])

      const gateway = await starting
      expect((await gateway.call('GET', '/readyz')).body.event_log).to.equal('following')
      await gateway.stop()
      await cluster.stop()
    })
  }
})
