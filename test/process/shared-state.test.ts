import { expect } from 'chai'
import { type GatewayProcess, startGatewayProcess } from '../support/gateway-process.ts'
import { installTally } from '../support/tally-plugin.ts'
import { type Connection, connectToEach } from '../support/workers.ts'

describe('two workers', function () {
  this.timeout(60_000)
  let gateway: GatewayProcess
  let connections: readonly Connection[]
  before(async () => {
    const { folder, CONFIG } = await installTally()
    gateway = await startGatewayProcess({ CONFIG, WORKERS: '2' }, { cwd: folder })
    connections = [...(await connectToEach(gateway, 2)).values()]
  })
  after(() => gateway.stop())

  const callAll = (method: string, body?: unknown, headers?: Record<string, string>) =>
    Promise.all(connections.map((connection) => connection.call(method, '/v1/tally', body, headers)))

  it('share the counters of plugins', async () => {
    const calls = Array.from({ length: 50 }, () => callAll('POST'))
    const totals = (await Promise.all(calls)).flat().map(({ body }) => body.data.total)
    expect(totals.sort((a, b) => a - b)).to.deep.equal(Array.from({ length: 100 }, (_, index) => index + 1))
    for (const { body } of await callAll('GET')) expect(body.data.total).to.equal(100)
  })

  it('share the records of plugins', async () => {
    const [first, second] = connections
    await first?.call('PUT', '/v1/tally', { n: 7 })
    expect((await second?.call('GET', '/v1/tally'))?.body.data.record).to.deep.equal({ n: 7 })
    await second?.call('DELETE', '/v1/tally')
    expect((await first?.call('GET', '/v1/tally'))?.body.data).not.to.have.property('record')
  })

  it('count authentication failures together', async () => {
    const invalid = { authorization: 'Bearer no-such-key' }
    const statuses: number[] = []
    for (let round = 0; round < 11; round++) {
      for (const connection of connections)
        statuses.push((await connection.call('GET', '/v1/models', undefined, invalid)).status)
    }
    expect(statuses).to.deep.equal([...Array(20).fill(401), 429, 429])
  })
})
