import { expect } from 'chai'
import { chatBody } from '../support/bodies.ts'
import type { Answer } from '../support/gateway.ts'
import { type GatewayProcess, startGatewayProcess } from '../support/gateway-process.ts'
import { BUILT_IN } from '../support/plugins.ts'
import { installTally } from '../support/tally-plugin.ts'
import { type Connection, connectToEach } from '../support/workers.ts'

describe('two workers', () => {
  let gateway: GatewayProcess
  let connections: readonly Connection[]
  before(async () => {
    const { folder, CONFIG } = await installTally(
      BUILT_IN.flatMap((name) => (name === 'dispatch' ? ['cache', name] : [name])),
    )
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

  it('share cached replies, whole and streamed', async () => {
    const ask = (connection: Connection, more = {}) =>
      connection.call('POST', '/v1/chat/completions', chatBody('Hello', { temperature: 0, ...more }))
    const answers: Answer[] = []
    for (const connection of connections) answers.push(await ask(connection))
    for (const connection of connections) answers.push(await ask(connection, { stream: true }))
    expect(answers.map(({ headers }) => headers.get('x-cache'))).to.deep.equal(['miss', 'hit', 'hit', 'hit'])
    expect(answers[1]?.body.choices).to.deep.equal(answers[0]?.body.choices)
    expect(answers[3]?.body).to.contain('You said')
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
