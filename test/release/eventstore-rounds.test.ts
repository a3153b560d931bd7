import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { expect } from 'chai'
import { firewallRuleBody } from '../support/bodies.ts'
import { operateStore } from '../support/eventstore/operated-store.ts'
import { openStoreUnderTest, type StoreUnderTest } from '../support/eventstore/store-under-test.ts'
import { makeFolder } from '../support/folders.ts'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import { type GatewayProcess, startGatewayProcess } from '../support/gateway-process.ts'
import { newUser } from '../support/new-user.ts'
import { nodeArguments } from '../support/root.ts'
import { ROUNDS } from '../support/rounds.ts'
import { type CallAs, type RoundCounts, type Rounds, runRounds } from '../support/store-rounds.ts'
import { waitUntil } from '../support/wait.ts'

/** None of these may happen, whatever fails. */
const NOTHING_WRONG = { lost: 0, doubled: 0, falselyRefused: 0, unknown: 0 }

function expectNothingWrong(what: string, counts: RoundCounts): void {
  if (process.env.TEST_LONG) process.stdout.write(`      ${what}: ${JSON.stringify(counts)}\n`)
  expect(counts).to.include(NOTHING_WRONG)
  expect(counts.acknowledged).to.be.above(0)
}

/** Calls with a key of a new user, because a server of one's own has users already. */
async function asNewUser(gateway: RunningGateway): Promise<CallAs> {
  const { key } = await newUser(gateway)
  return (to, method, path, body, headers) =>
    to.call(method, path, body, { authorization: `Bearer ${key}`, ...headers })
}

const longer = (test: Mocha.Context, rounds: number) => test.timeout(60_000 + rounds * 30_000)

describe('rule changes while an EventStoreDB fails', () => {
  let store: StoreUnderTest
  let environment: { EVENTSTORE_URL: string }
  let gateways: RunningGateway[]
  let callAs: CallAs

  const open = async (opened: Promise<StoreUnderTest>) => {
    store = await opened
    environment = { EVENTSTORE_URL: store.connectionString }
    gateways = [await startGateway(environment), await startGateway(environment)]
    callAs = await asNewUser(gateways[0] as RunningGateway)
    await waitUntil(async () => {
      const answers = await Promise.all(gateways.map((node) => callAs(node, 'GET', '/v1/firewall-rules')))
      return answers.every(({ status }) => status === 200)
    })
  }

  afterEach(async () => {
    for (const gateway of gateways) await gateway.stop()
    await store.close()
  })

  const run = (rounds: number, disturb: Rounds['disturb'], options: Partial<Rounds> = {}) =>
    runRounds({
      gateways: () => gateways,
      callAs,
      rounds,
      disturb,
      startObserver: () => startGateway(environment),
      ...options,
    })

  const killStore = async (_: number, failing: () => Promise<void>) => {
    await store.kill(0)
    await failing()
    await store.start(0)
  }

  const killLeader = async () => {
    const leader = await store.leader()
    await store.kill(leader)
    await store.leader()
    await store.start(leader)
  }

  it(`are kept through ${ROUNDS.storeKills} kills of the store`, async function () {
    longer(this, ROUNDS.storeKills)
    await open(openStoreUnderTest('node'))

    expectNothingWrong('kills of the store', await run(ROUNDS.storeKills, killStore))
  })

  it(`are kept through ${ROUNDS.leaderKills} kills of the leader`, async function () {
    longer(this, ROUNDS.leaderKills)
    await open(openStoreUnderTest('cluster'))

    expectNothingWrong('kills of the leader', await run(ROUNDS.leaderKills, killLeader))
  })

  it(`are kept through ${ROUNDS.frozenLeaders} frozen leaders`, async function () {
    longer(this, ROUNDS.frozenLeaders)
    await open(openStoreUnderTest('cluster'))
    const freezeLeader = async () => {
      const leader = await store.leader()
      await store.freeze(leader)
      await waitUntil(async () => (await store.leader().catch(() => leader)) !== leader)
      await store.thaw(leader)
    }

    expectNothingWrong('frozen leaders', await run(ROUNDS.frozenLeaders, freezeLeader))
  })

  it(`are made once by clients that repeat them, through ${ROUNDS.leaderKills} leader kills`, async function () {
    longer(this, ROUNDS.leaderKills)
    await open(openStoreUnderTest('cluster'))

    const counts = await run(ROUNDS.leaderKills, killLeader, { repeats: true })
    expectNothingWrong('kills of the leader, repeated', counts)
    expect(counts).to.include({ refused: 0, doubtful: 0 })
  })

  it('are kept on a server that commands control', async function () {
    longer(this, 1)
    const { child, opened } = await startServedStore()
    await open(Promise.resolve(opened))

    expectNothingWrong('by commands', await run(1, killStore))
    child.kill()
  })
})

describe('rule changes while gateways on an EventStoreDB are killed', () => {
  it(`are made once by clients that repeat them, through ${ROUNDS.gatewayKills} kills`, async function () {
    longer(this, ROUNDS.gatewayKills)
    const store = await openStoreUnderTest('node')
    const environment = { EVENTSTORE_URL: store.connectionString }
    const folders = [await makeFolder(), await makeFolder()]
    const start = (node: number) =>
      startGatewayProcess(environment, { dataDir: folders[node] ?? '', demoKey: 'unused' })
    const nodes: GatewayProcess[] = [await start(0), await start(1)]
    const callAs = await asNewUser(nodes[0] as GatewayProcess)

    const counts = await runRounds({
      gateways: () => nodes,
      callAs,
      rounds: ROUNDS.gatewayKills,
      repeats: true,
      async disturb(round, failing) {
        const node = round % 2
        await nodes[node]?.stop('SIGKILL')
        await failing()
        nodes[node] = await start(node)
      },
      startObserver: () => startGateway(environment),
    })

    expectNothingWrong('kills of gateways, repeated', counts)
    expect(counts).to.include({ refused: 0, doubtful: 0 })
    for (const node of nodes) await node.stop()
    await store.close()
  })
})

describe('an EventStoreDB that is replaced', () => {
  const RULES = '/v1/firewall-rules'
  for (const by of ['empty', 'older', 'other'] as const) {
    for (const gatewayIs of ROUNDS.replacements) {
      it(`by ${by} data under a ${gatewayIs} gateway is not served as the old one`, async function () {
        longer(this, 1)
        const store = await openStoreUnderTest('node')
        const environment = { EVENTSTORE_URL: store.connectionString }
        const exchange = async (action: () => Promise<void>) => {
          await store.kill(0)
          await action()
          await store.start(0)
        }
        if (by === 'other') {
          const neighbour = await startGateway(environment)
          await newUser(neighbour)
          await neighbour.stop()
          await exchange(() => store.save('other'))
        }
        await exchange(() => store.wipe())
        const gateway = await startGateway(environment)
        const callAs = await asNewUser(gateway)
        const add = (pattern: string) =>
          callAs(gateway, 'POST', RULES, firewallRuleBody({ name: pattern, pattern, action: 'warn' }))
        expect((await add('old')).status).to.equal(201)
        await exchange(() => store.save('older'))
        await waitUntil(async () => (await add('newer')).status === 201)

        if (gatewayIs === 'stopped') await gateway.stop()
        await exchange(() => (by === 'empty' ? store.wipe() : store.load(by)))
        const acknowledged: string[] = []
        if (gatewayIs === 'running') {
          const stateOf = async () => (await gateway.call('GET', '/readyz')).body.event_log
          for (let n = 0; (await stateOf()) !== 'replaced'; n++)
            if ((await add(`late ${n}`)).status === 201) acknowledged.push(`late ${n}`)
          await gateway.stop()
        }
        const again = await startGateway(environment, { dataDir: gateway.dataDir })
        const { status, body } = await callAs(again, 'GET', RULES)
        await again.stop()
        await store.close()

        expect(acknowledged, 'acknowledged by a gateway whose store was replaced').to.deep.equal([])
        expect(status).to.equal(by === 'older' ? 200 : 401)
        const patterns = body.data?.map(({ pattern }: { pattern: string }) => pattern)
        expect(patterns).to.deep.equal(by === 'older' ? ['old'] : undefined)
      })
    }
  }
})

/** A test server in a process of its own, which is controlled as an operator's server is. */
async function startServedStore(): Promise<{ child: ChildProcess; opened: StoreUnderTest }> {
  const child = spawn(process.execPath, nodeArguments('test/support/eventstore/serve'), {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [line] = await once(createInterface(child.stdout), 'line')
  const { connectionString, control } = JSON.parse(line)
  const program = nodeArguments('test/support/eventstore/control').map((part) => `'${part}'`)
  const command = `'${process.execPath}' ${program.join(' ')} ${control}`
  return { child, opened: operateStore({ connectionString, command }) }
}
