import { expect } from 'chai'
import { openSqliteLog } from '../../core/event-log/sqlite/sqlite-log.ts'
import { makeFolder, type RunningGateway, startGateway } from '../support/gateway.ts'

const rule = (name: string) => ({
  name,
  is_enabled: true,
  scope: 'prompt',
  type: 'substring',
  pattern: name,
  action: 'warn',
  priority: 0,
})

describe('a gateway that is killed', () => {
  it('has every acknowledged rule after restart, and nothing half-written, 20 times over', async function () {
    this.timeout(120_000)
    const dataDir = await makeFolder()
    const acknowledged = new Map<string, number>()
    let demoKey: string | undefined

    for (let round = 0; round < 20; round++) {
      const gateway = await startGateway({}, { dataDir, ...(demoKey !== undefined && { demoKey }) })
      demoKey = gateway.demoKey
      await expectAll(gateway, acknowledged)
      await killWhileWriting(gateway, round, acknowledged)
    }

    const gateway = await startGateway({}, { dataDir, demoKey: demoKey ?? '' })
    await expectAll(gateway, acknowledged)
    await gateway.stop()
    await expectGaplessRevisions(dataDir)
  })
})

/** Four writers at once; the kill comes after a number of acknowledgements that differs by round. */
async function killWhileWriting(gateway: RunningGateway, round: number, acknowledged: Map<string, number>) {
  let left = 5 + (round % 7)
  let killed: Promise<unknown> | undefined
  const write = async (writer: number) => {
    for (let n = 0; killed === undefined; n++) {
      const name = `round ${round} writer ${writer} rule ${n}`
      const answer = await gateway.call('POST', '/v1/firewall-rules', rule(name)).catch(() => undefined)
      if (answer === undefined) return
      expect(answer.status).to.equal(201)
      acknowledged.set(name, answer.body.data.id)
      if (--left === 0) killed = gateway.stop('SIGKILL')
    }
  }
  await Promise.all([0, 1, 2, 3].map(write))
  await killed
}

async function expectAll(gateway: RunningGateway, acknowledged: ReadonlyMap<string, number>) {
  const { body } = await gateway.call('GET', '/v1/firewall-rules')
  const there = new Map(body.data.map(({ name, id }: { name: string; id: number }) => [name, id]))
  for (const [name, id] of acknowledged) expect(there.get(name), name).to.equal(id)
  expect(new Set(there.values()).size).to.equal(there.size)
}

async function expectGaplessRevisions(dataDir: string) {
  const log = await openSqliteLog({ directory: dataDir })
  const next = new Map<string, number>()
  for await (const record of log.subscribe(0, AbortSignal.timeout(10_000))) {
    if (record === 'caught-up') break
    expect(record.revision).to.equal(next.get(record.stream) ?? 0)
    next.set(record.stream, record.revision + 1)
  }
  await log.close()
}

describe('two gateways on one data folder', () => {
  let first: RunningGateway
  let second: RunningGateway

  before(async () => {
    first = await startGateway()
    second = await startGateway({}, { dataDir: first.dataDir, demoKey: first.demoKey })
  })
  after(() => Promise.all([first.stop(), second.stop()]))

  const isMasked = async (gateway: RunningGateway, word: string) => {
    const { body } = await gateway.call('POST', '/v1/chat/completions', {
      messages: [{ role: 'user', content: word }],
    })
    return body.choices[0].message.content.includes('[redacted]')
  }

  /** Asks again until the change is in force there; the test's own time limit is the bound. */
  const eventually = async (condition: () => Promise<boolean>) => {
    while (!(await condition())) await new Promise(setImmediate)
  }

  it("see each other's rule changes", async () => {
    const { body } = await first.call('POST', '/v1/firewall-rules', {
      ...rule('shared-word'),
      action: 'mask',
    })
    await eventually(() => isMasked(second, 'shared-word'))
    await second.call('DELETE', `/v1/firewall-rules/${body.data.id}`)
    await eventually(async () => !(await isMasked(first, 'shared-word')))
  })

  it('never give one id twice when both create at once', async () => {
    const create = (gateway: RunningGateway, n: number) =>
      gateway.call('POST', '/v1/firewall-rules', rule(`word ${n}`))
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, n) => create(n % 2 === 0 ? first : second, n)),
    )
    expect(answers.map(({ status }) => status)).to.deep.equal(Array(40).fill(201))
    expect(new Set(answers.map(({ body }) => body.data.id)).size).to.equal(40)
  })

  it('have one demo user', () => {
    expect(second.stderr()).not.to.contain('The event log was empty')
  })
})
