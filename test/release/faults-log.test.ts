import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, createReadStream, openSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { expect } from 'chai'
import { chatBody, firewallRuleBody } from '../support/bodies.ts'
import { captureOutput } from '../support/captured-output.ts'
import { makeFolder } from '../support/folders.ts'
import { TEST_ENVIRONMENT } from '../support/gateway.ts'
import { type GatewayProcess, spawnSignalbox, startGatewayProcess } from '../support/gateway-process.ts'
import { scrape } from '../support/metrics.ts'
import { sendRequest } from '../support/send-request.ts'
import { mountSmallDisk } from '../support/small-disk.ts'
import { waitUntil } from '../support/wait.ts'

/** The log lines of requests fill a pipe of 64 KiB. */
const REQUESTS = 400

/** A gateway serves requests and changes, and ends on SIGTERM, with code 0 unless `code` says otherwise. */
async function expectServing(gateway: GatewayProcess, requests = 5): Promise<void> {
  expect((await gateway.call('GET', '/healthz')).status).to.equal(200)
  const statuses = new Set<number>()
  for (let n = 0; n < requests; n += 10) {
    const send = () => gateway.call('POST', '/v1/chat/completions', chatBody('Hello'))
    for (const { status } of await Promise.all(Array.from({ length: 10 }, send))) statuses.add(status)
  }
  expect([...statuses]).to.deep.equal([200])
  expect((await gateway.call('POST', '/v1/firewall-rules', firewallRuleBody())).status).to.equal(201)
  expect((await gateway.call('GET', '/healthz')).status).to.equal(200)
}

const droppedLines = async (gateway: GatewayProcess) =>
  (await scrape(gateway)).sum('signalbox_log_lines_dropped_total')

describe('faults of the log', () => {
  for (const workers of ['1', '2'])
    it(`the log is on a full disk: the gateway serves and ends (${workers} workers)`, async () => {
      const stderr = openSync('/dev/full', 'w')
      const gateway = await startGatewayProcess({ WORKERS: workers }, { stderr })
      await expectServing(gateway, 50)
      // Lines are written, and lost, in batches.
      await waitUntil(async () => (await droppedLines(gateway)) > 50)
      expect(await gateway.stop()).to.equal(0)
      closeSync(stderr)
    })

  it('the log is on a full disk: once there is space, one line says how many lines are lost', async function () {
    const disk = await mountSmallDisk(this, 1)
    const file = path.join(disk.folder, 'log')
    const stderr = openSync(file, 'a')
    const gateway = await startGatewayProcess({}, { stderr })
    await disk.fill()
    await expectServing(gateway, 100)
    const dropped = await droppedLines(gateway)
    expect(dropped).to.be.above(50)
    await disk.free()
    await expectServing(gateway)
    expect(await gateway.stop()).to.equal(0)
    const lines = readFileSync(file, 'utf8').split('\n')
    const reports = lines.filter((line) => line.includes('log lines dropped')).map((line) => JSON.parse(line))
    expect(reports).to.have.length(1)
    expect(reports[0].count).to.be.at.least(dropped)
    expect(reports[0].reason).to.contain('ENOSPC')
    closeSync(stderr)
    disk.unmount()
  })

  it('stdout is on a full disk: the gateway serves and ends', async () => {
    const stdout = openSync('/dev/full', 'w')
    const child = spawnSignalbox(['start'], { ...TEST_ENVIRONMENT, DATA_DIR: await makeFolder() }, stdout)
    const output = captureOutput()
    child.stderr.setEncoding('utf8').on('data', output.write)
    child.once('close', output.end)
    await output.contains('SIGNALBOX_KEY=')
    const url = output.text().match(/serves at (\S+),/)?.[1]
    expect((await sendRequest(`${url}/healthz`, { method: 'GET' })).status).to.equal(200)
    await output.contains('ready line could not be written to stdout')
    child.kill('SIGTERM')
    expect(await once(child, 'exit')).to.deep.equal([0, null])
    closeSync(stdout)
  })

  for (const workers of ['1', '2'])
    it(`nobody reads the log: the gateway serves, and SIGTERM ends it in time (${workers} workers)`, async () => {
      const pipe = path.join(await makeFolder(), 'pipe')
      execFileSync('mkfifo', [pipe])
      const stderr = openSync(pipe, 'r+')
      const gateway = await startGatewayProcess({ WORKERS: workers }, { stderr })
      await expectServing(gateway, REQUESTS)
      const end = await gateway.stop()
      expect(end === 0 || gateway.process.signalCode === 'SIGTERM').to.equal(true)
      closeSync(stderr)
    })

  it('nobody reads the log: a reader that comes back gets whole lines', async () => {
    const pipe = path.join(await makeFolder(), 'pipe')
    execFileSync('mkfifo', [pipe])
    const stderr = openSync(pipe, 'r+')
    const gateway = await startGatewayProcess({}, { stderr })
    await expectServing(gateway, REQUESTS)
    const stopped = gateway.stop()
    let text = ''
    for await (const bytes of createReadStream(pipe, 'utf8')) {
      text += bytes
      if (text.includes('stopping; waiting')) break
    }
    expect(await stopped).to.equal(0)
    const requests = text.split('\n').filter((line) => line.includes('"path":"/v1/chat/completions"'))
    for (const line of requests) JSON.parse(line)
    expect(requests).to.have.length(REQUESTS)
    closeSync(stderr)
  })

  for (const workers of ['1', '2'])
    it(`the reader of the log has ended: the gateway serves and ends (${workers} workers)`, async () => {
      const gateway = await startGatewayProcess({ WORKERS: workers })
      gateway.process.stderr?.destroy()
      await expectServing(gateway, 50)
      expect(await droppedLines(gateway)).to.be.above(10)
      expect(await gateway.stop()).to.equal(0)
    })
})
