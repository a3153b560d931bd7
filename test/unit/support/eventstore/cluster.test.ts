import { EventStoreDBClient, jsonEvent } from '@eventstore/db-client'
import { expect } from 'chai'
import { rejection } from '../../../support/event-log-suite.ts'
import { type EventStoreCluster, startEventStoreCluster } from '../../../support/eventstore/cluster.ts'

const CREDENTIALS = { username: 'signalbox', password: 'changeit' }

describe('the EventStoreDB test cluster', () => {
  let cluster: EventStoreCluster
  const clients: EventStoreDBClient[] = []

  beforeEach(async () => {
    cluster = await startEventStoreCluster({ heartbeatMs: 50, electionMs: 50 })
  })

  afterEach(async () => {
    for (const client of clients.splice(0)) await client.dispose()
    await cluster.stop()
  })

  const connect = (connectionString: string) => {
    const client = EventStoreDBClient.connectionString(connectionString)
    clients.push(client)
    return client
  }
  const nodeString = (port: number) => `esdb://127.0.0.1:${port}?tls=false`
  const append = (
    client: EventStoreDBClient,
    options: { requiresLeader?: boolean } = {},
    event = newEvent(),
  ) => client.appendToStream('user-1', [event], { credentials: CREDENTIALS, ...options })

  it('tells by gossip which node is the leader', async () => {
    const { nextExpectedRevision } = await append(connect(cluster.connectionString), { requiresLeader: true })

    expect(nextExpectedRevision).to.equal(0n)
  })

  it('forwards writes from a follower, unless a leader is required', async () => {
    const follower = connect(nodeString(cluster.nodes[2]?.port ?? 0))
    await append(follower)

    const error = await rejection(append(follower, { requiresLeader: true }))

    const { port } = await cluster.leader()
    expect(error).to.include({ type: 'not-leader' })
    expect(error).to.have.property('leader').that.deep.equals({ address: '127.0.0.1', port })
  })

  it('has no leader during an election, and then another one', async () => {
    const before = await cluster.leader()
    const survivor = connect(nodeString(cluster.nodes.find((node) => node !== before)?.port ?? 0))
    const elect = cluster.holdElections()
    await before.kill()

    expect(await rejection(append(survivor))).to.have.property('type', 'unavailable')
    elect()
    const after = await cluster.leader()
    expect(after).to.not.equal(before)
    await append(survivor)
  })

  it('does not recognize a repeated append without an expected revision on the next leader', async () => {
    const event = newEvent()
    await append(connect(cluster.connectionString), {}, event)
    await (await cluster.leader()).kill()
    await cluster.leader()

    const { nextExpectedRevision } = await append(connect(cluster.connectionString), {}, event)

    expect(nextExpectedRevision).to.equal(1n)
  })

  it('elects no leader without a majority, until there is one again', async () => {
    const [first, second, third] = cluster.nodes
    await second?.kill()
    await first?.kill()
    expect(await rejection(cluster.leader())).to.have.property('message', 'no leader was elected')

    await second?.start()

    expect(await cluster.leader()).to.be.oneOf([second, third])
  })

  it('replaces a leader that is frozen', async () => {
    const frozen = await cluster.leader()
    const bystander = connect(nodeString(cluster.nodes.find((node) => node !== frozen)?.port ?? 0))
    await append(bystander)
    frozen.freeze()

    while ((await cluster.leader()) === frozen) await new Promise(setImmediate)

    await append(bystander)
    frozen.thaw()
    const error = await rejection(append(connect(nodeString(frozen.port)), { requiresLeader: true }))
    expect(error).to.have.property('type', 'not-leader')
  })

  it('lets a leader resign', async () => {
    const before = await cluster.leader()
    before.resign()

    expect(await cluster.leader()).to.not.equal(before)
  })
})

function newEvent() {
  return jsonEvent({ type: 'Written', data: {} })
}
