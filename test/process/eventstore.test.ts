import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect } from 'chai'
import { startEventStore } from '../support/eventstore/server.ts'
import { makeFolder } from '../support/folders.ts'
import { runSignalbox, spawnSignalbox, startGatewayProcess } from '../support/gateway-process.ts'

describe('the program, when EventStoreDB is unavailable', () => {
  let environment: Record<string, string>
  before(async () => {
    environment = { EVENTSTORE_URL: 'esdb://127.0.0.1:9?tls=false', DATA_DIR: await makeFolder() }
  })

  it('fails a command with a sentence', async () => {
    const { code, stderr } = await runSignalbox(['users', 'list'], environment)

    expect(code).to.equal(1)
    expect(stderr).to.contain('the event log server cannot be reached')
  })

  it('ends a start that is stopped while it waits', async () => {
    const child = spawnSignalbox(['start'], environment)
    for await (const line of createInterface(child.stderr)) {
      // The warning that the event log is unavailable.
      if (line.includes('"level":40')) child.kill('SIGTERM')
    }

    expect(child.exitCode ?? (await once(child, 'exit'))[0]).to.equal(0)
  })
})

describe('the program, when its event log is replaced', () => {
  for (const workers of ['1', '2']) {
    it(`exits with 78, with WORKERS=${workers}, and starts on the new one`, async function () {
      this.timeout(60_000)
      const file = join(await makeFolder(), 'events.db')
      const server = await startEventStore({ file })
      const environment = { EVENTSTORE_URL: server.connectionString, WORKERS: workers }
      const gateway = await startGatewayProcess(environment)
      const exited = once(gateway.process, 'exit')
      await server.stop()
      const empty = await startEventStore({ port: server.port })

      expect(await exited).to.deep.equal([78, null])
      expect(gateway.stderr()).to.contain('event log replaced; the gateway must be started again')
      const { dataDir } = gateway
      const again = await startGatewayProcess(environment, { dataDir })
      expect(again.demoKey).not.to.be.oneOf(['', gateway.demoKey])
      expect(await again.stop()).to.equal(0)
      await empty.stop()
    })
  }
})
