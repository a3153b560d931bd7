import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect } from 'chai'
import { runCommand } from '../support/command.ts'
import { startEventStore } from '../support/eventstore/server.ts'
import { makeFolder } from '../support/folders.ts'
import { AS_ADMIN, startGateway } from '../support/gateway.ts'
import { type GatewayProcess, spawnSignalbox, startGatewayProcess } from '../support/gateway-process.ts'
import { ROUNDS } from '../support/rounds.ts'
import { connectToEach } from '../support/workers.ts'

describe('the program, when EventStoreDB is unavailable', () => {
  let environment: Record<string, string>
  before(async () => {
    environment = { EVENTSTORE_URL: 'esdb://127.0.0.1:9?tls=false', DATA_DIR: await makeFolder() }
  })

  it('fails a command with a sentence', async () => {
    const { code, stderr } = await runCommand(['users', 'list'], environment)

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
    it(`exits with 78, with WORKERS=${workers}, and starts on the new one; before, it accepts new keys at once`, async () => {
      const file = join(await makeFolder(), 'events.db')
      const server = await startEventStore({ file })
      const environment = { EVENTSTORE_URL: server.connectionString, WORKERS: workers }
      const gateway = await startGatewayProcess(environment)
      await expectNewKeysAccepted(gateway, Number(workers))
      const exited = once(gateway.process, 'exit')
      await server.stop()
      const empty = await startEventStore({ port: server.port })

      expect(await exited).to.deep.equal([78, null])
      expect(gateway.stderr()).to.contain('event log replaced; the gateway must be started again')
      const { dataDir } = gateway
      const again = await startGateway(environment, { dataDir })
      expect(again.demoKey).not.to.be.oneOf(['', gateway.demoKey])
      await again.stop()
      await empty.stop()
    })
  }
})

/** Each worker accepts keys that others issued from the next request on. */
async function expectNewKeysAccepted(gateway: GatewayProcess, workers: number): Promise<void> {
  const each = workers === 1 ? [gateway] : [...(await connectToEach(gateway, workers)).values()]
  for (let n = 0; n < ROUNDS.workerKeys; n++) {
    const made = await each[n % workers]!.call('POST', '/admin/users/1/keys', undefined, AS_ADMIN)
    const bearer = { authorization: `Bearer ${made.body.data.key}` }
    for (const connection of each)
      expect((await connection.call('GET', '/v1/models', undefined, bearer)).status).to.equal(200)
  }
  for (const connection of each) if ('close' in connection) connection.close()
}
