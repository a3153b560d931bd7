import { expect } from 'chai'
import { chatBody } from '../support/bodies.ts'
import type { RunningGateway } from '../support/gateway.ts'
import { ROUNDS } from '../support/rounds.ts'
import {
  createRule as create,
  startOnFolder,
  startOnServer,
  succeed,
  type TwoNodes,
} from '../support/two-nodes.ts'

/** Well over the goal of 50 ms: the machine that runs the tests may be busy. */
const MAX_LAG_MS = 250

/** Changes that are not measured: the first requests of a process load modules. */
const COLD_CHANGES = 10

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

  it('apply a change soon after the other has acknowledged it', async function () {
    this.timeout(120_000)
    const { id } = await create(first, 'never-said', 'block')
    const delays: number[] = []
    for (let n = -COLD_CHANGES; n < ROUNDS.nodeChanges; n++) {
      const [here, there] = n % 2 === 0 ? [first, second] : [second, first]
      await succeed(here.call('PATCH', `/v1/firewall-rules/${id}`, { pattern: `word-${n}-` }))
      const acknowledged = performance.now()
      while (!(await isBlocked(there, `word-${n}-`)));
      if (n >= 0) delays.push(performance.now() - acknowledged)
    }
    delays.sort((a, b) => a - b)
    const [p50, p99] = [delays[ROUNDS.nodeChanges / 2], delays[Math.ceil(ROUNDS.nodeChanges * 0.99) - 1]]
    process.stdout.write(
      `        effect on the other node: p50 ${p50?.toFixed(1)} ms, p99 ${p99?.toFixed(1)} ms\n`,
    )

    expect(p99).to.be.lessThan(MAX_LAG_MS)
  })
}

async function isBlocked(node: RunningGateway, word: string): Promise<boolean> {
  return (await node.call('POST', '/v1/chat/completions', chatBody(word))).status === 403
}
