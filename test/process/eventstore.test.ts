import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { expect } from 'chai'
import { makeFolder } from '../support/folders.ts'
import { runSignalbox, spawnSignalbox } from '../support/gateway-process.ts'

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
