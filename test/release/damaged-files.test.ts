import { readdir } from 'node:fs/promises'
import path from 'node:path'
import { expect } from 'chai'
import { chatBody } from '../support/bodies.ts'
import { zeroPages } from '../support/damage.ts'
import { type GatewayProcess, startGatewayProcess } from '../support/gateway-process.ts'
import { createResponse, idIn, replay } from '../support/stored-responses.ts'
import { waitUntil } from '../support/wait.ts'

describe('several workers on a data folder with a damaged file', () => {
  let gateway: GatewayProcess

  before(async () => {
    gateway = await startGatewayProcess({ WORKERS: '2' })
  })
  after(() => gateway?.stop())

  it('set it aside once, whoever meets the damage, and go on', async () => {
    const { dataDir, call } = gateway
    const send = () => createResponse(gateway, { input: 'x'.repeat(9000) })
    const all = await Promise.all(Array.from({ length: 8 }, send))
    expect(all.map(({ status }) => status)).to.deep.equal(Array(8).fill(200))
    await call('GET', '/v1/requests')
    for (const name of ['ledger.db', 'ledger.db-wal']) await zeroPages(path.join(dataDir, name))

    const damaged = async () => (await call('GET', '/readyz')).body.damaged_files ?? []
    await waitUntil(async () => {
      const old = await Promise.all(all.map(({ text }) => replay(gateway, idIn(text), false)))
      for (const { status } of old) expect(status).to.be.oneOf([200, 404])
      expect((await call('POST', '/v1/chat/completions', chatBody('Hello'))).status).to.equal(200)
      await call('GET', '/v1/requests')
      return (await damaged()).length >= 1
    })
    const created = await Promise.all(Array.from({ length: 8 }, send))
    expect(created.map(({ status }) => status)).to.deep.equal(Array(8).fill(200))
    // Each replay may be answered by the other worker.
    const replayed = await Promise.all(created.map(({ text }) => replay(gateway, idIn(text), false)))
    expect(replayed.map(({ status }) => status)).to.deep.equal(Array(8).fill(200))
    const requests = created.map(({ text }) => idIn(text).replace('resp_', 'req_'))
    // A slow ledger may write them after it was read.
    await waitUntil(async () => {
      const { status, body } = await call('GET', '/v1/requests')
      expect(status).to.equal(200)
      const recorded = new Set(body.data.map((record: { x_request_id: string }) => record.x_request_id))
      return requests.every((id) => recorded.has(id))
    })
    const aside = (await readdir(dataDir)).filter((name) => /-damaged-.*\.db$/.test(name))
    expect(aside.map((name) => name.split('-')[0])).to.deep.equal(['ledger'])
    expect(await damaged()).to.deep.equal(aside)
    expect(await gateway.stop()).to.equal(0)
  })
})
