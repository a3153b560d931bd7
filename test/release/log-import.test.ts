import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { expect } from 'chai'
import { openLog } from '../../config/gateway/state.ts'
import type { EventLog } from '../../core/contract/index.ts'
import { readToEnd } from '../../core/event-log/streams.ts'
import { readLogId } from '../../core/events/log-events.ts'
import { firewallRuleBody } from '../support/bodies.ts'
import { runCommand } from '../support/command.ts'
import { createLogFolder } from '../support/data-folder.ts'
import { startEventStore } from '../support/eventstore/server.ts'
import { makeFolder } from '../support/folders.ts'
import { type RunningGateway, startGatewayOnFiles } from '../support/gateway.ts'

describe('"log import"', () => {
  let file: string
  let lines: readonly string[]
  let demoKey: string

  before(async () => {
    const gateway = await startGatewayOnFiles()
    demoKey = gateway.demoKey
    const [first, second] = [await createRule(gateway, 'first'), await createRule(gateway, 'second')]
    await gateway.call('PATCH', first, { priority: 7 })
    await gateway.call('DELETE', second)
    await gateway.stop()
    const { stdout } = await runCommand(['log', 'export'], { DATA_DIR: gateway.dataDir })
    lines = stdout.trimEnd().split('\n')
    file = await writeLines(lines)
  })

  const importInto = (dataDir: string, from = file) =>
    runCommand(['log', 'import', from, '--without-checkpoints'], { DATA_DIR: dataDir })

  it('moves a log to EventStoreDB and back, with the same events, order and rules', async function () {
    this.timeout(180_000)
    const server = await startEventStore()
    const onServer = { EVENTSTORE_URL: server.connectionString, DATA_DIR: await makeFolder() }
    expect(await runCommand(['log', 'import', file], onServer)).to.include({ code: 0, stderr: '' })
    const moved = await startGatewayOnFiles(onServer, { demoKey, dataDir: onServer.DATA_DIR })
    expect((await moved.call('GET', '/v1/firewall-rules')).body.data).to.have.length(1)
    expect((await moved.call('GET', '/v1/audit')).body.data.length).to.be.above(4)
    expect(await createRule(moved, 'third')).to.match(/\/4$/)
    await moved.stop()

    const exported = await exportFrom(onServer)
    const dataDir = await makeFolder()
    const { code, stdout } = await importInto(dataDir, await writeLines(exported))
    await server.stop()

    expect(code).to.equal(0)
    expect(stdout).to.contain(`Imported ${exported.length} events.`)
    const back = await exportFrom({ DATA_DIR: dataDir })
    expect(back.slice(0, lines.length).map(withoutPosition)).to.deep.equal(lines.map(withoutPosition))
    expect(back.slice(0, -1).map(withoutPosition)).to.deep.equal(exported.map(withoutPosition))
    expect((await runCommand(['log', 'verify'], { DATA_DIR: dataDir })).stdout).to.contain('No issues found')
  })

  it('gives the log an id of its own, behind the events of the file', async () => {
    const dataDir = await makeFolder()
    await importInto(dataDir)

    const exported = await exportFrom({ DATA_DIR: dataDir })
    const ids = exported.filter(isIdentity).map((line) => JSON.parse(line).data.id)
    expect(isIdentity(exported.at(-1) ?? '')).to.equal(true)
    expect(ids).to.have.length(2)
    expect(await readFile(file, 'utf8'))
      .to.contain(ids[0])
      .and.not.to.contain(ids[1])
    const log = await openLog({ data_dir: dataDir, eventstore_url: null })
    expect(await readLogId(log)).to.equal(ids[1])
    await log.close()
  })

  it('continues an interrupted import, and writes nothing twice', async () => {
    const dataDir = await makeFolder()
    await interruptImport(dataDir, 4)

    expect((await importInto(dataDir)).stdout).to.contain(
      `Imported ${lines.length - 4} events; 4 were in the event log already.`,
    )
    expect((await importInto(dataDir)).stdout).to.contain(
      `Imported 0 events; ${lines.length} were in the event log already.`,
    )
    const exported = await exportFrom({ DATA_DIR: dataDir })
    expect(exported.slice(0, -1).map(withoutPosition)).to.deep.equal(lines.map(withoutPosition))
  })

  it('does not continue a completed import of fewer events', async () => {
    const dataDir = await makeFolder()
    expect((await importInto(dataDir, await writeLines(lines.slice(0, 4)))).code).to.equal(0)

    const { code, stderr } = await importInto(dataDir)
    expect(stderr).to.contain('holds a completed import of fewer events')
    expect(code).to.equal(1)
  })

  /** Imports the file until an append fails. */
  async function interruptImport(dataDir: string, events: number): Promise<void> {
    const { importLog } = await import('../../config/cli/import-log.ts')
    const log = await openLog({ data_dir: dataDir, eventstore_url: null })
    let left = events
    const append: EventLog['append'] = async (...args) => {
      left -= 1
      if (left < 0) throw new Error('interrupted')
      return log.append(...args)
    }
    const interrupted = { append, read: log.read.bind(log), subscribe: log.subscribe.bind(log) } as EventLog
    const error = await importLog(interrupted, file, 1).catch((error: Error) => error)
    expect(error).to.have.property('message', 'interrupted')
    await log.close()
  }

  it('refuses a log with other events', async () => {
    const dataDir = await createLogFolder()
    await runCommand(['users', 'add', '--name', 'Eve', '--plan', 'free'], { DATA_DIR: dataDir })
    const before = await exportFrom({ DATA_DIR: dataDir })

    const { code, stderr } = await importInto(dataDir)
    expect(stderr).to.match(
      /^The event log holds an event that is not in the file: event 0 of \S+, at position \d+\. /,
    )
    expect(stderr).to.match(/ Import into an empty event log\.\n$/)
    expect(code).to.equal(1)
    expect(await exportFrom({ DATA_DIR: dataDir })).to.deep.equal(before)
  })

  it('refuses a log with more events than the file', async () => {
    const dataDir = await makeFolder()
    await importInto(dataDir)

    const { code, stderr } = await importInto(dataDir, await writeLines(lines.slice(0, 4)))
    expect(stderr).to.contain('The event log holds an event that is not in the file')
    expect(code).to.equal(1)
  })

  describe('writes nothing from a file', () => {
    const refused = async (changed: readonly string[]) => {
      const dataDir = await makeFolder()
      const { code, stderr } = await importInto(dataDir, await writeLines(changed))
      expect(code).to.equal(1)
      expect(await exportFrom({ DATA_DIR: dataDir })).to.deep.equal([])
      return stderr
    }

    it('whose last line is cut off', async () => {
      const last = lines.at(-1) ?? ''
      expect(await refused([...lines.slice(0, -1), last.slice(0, -5)])).to.contain(`Line ${lines.length} of`)
    })

    it('in which an event is missing', async () => {
      expect(await refused(lines.toSpliced(-3, 1))).to.contain('should be event')
    })

    it('in which the last event of a stream is missing', async () => {
      const message = await refused(lines.toSpliced(-2, 1))
      expect(message).to.match(/Checkpoint 0, at position \d+, does not match: an event /)
    })

    it('that begins in the middle of a log', async () => {
      expect(await refused(lines.slice(2))).to.contain('is not a complete export')
    })
  })

  it('keeps events of a newer version', async () => {
    const last = JSON.parse(lines.at(-2) ?? '')
    const newer = { ...last, position: last.position + 2, revision: last.revision + 1, type: 'RuleShared' }
    newer.metadata = { ...newer.metadata, schema: 2, more: true }
    const dataDir = await makeFolder()
    await importInto(dataDir, await writeLines([...lines, JSON.stringify(newer)]))

    const exported = await exportFrom({ DATA_DIR: dataDir })
    expect(withoutPosition(exported.at(-2) ?? '')).to.deep.equal(withoutPosition(JSON.stringify(newer)))
  })

  it('reports a missing file, and prints its usage without one', async () => {
    const missing = await importInto(await makeFolder(), '/nowhere/events.jsonl')
    expect(missing.stderr).to.contain('no such file')
    expect(missing.code).to.equal(1)
    expect((await runCommand(['log', 'import'], { DATA_DIR: await makeFolder() })).code).to.equal(2)
  })
})

/** Whether the event gives the log its id. */
function isIdentity(line: string): boolean {
  return JSON.parse(line).stream === 'log'
}

/** The lines that `log export` writes for this event log. */
async function exportFrom(environment: Record<string, string>): Promise<readonly string[]> {
  const log = await openLog({
    data_dir: environment.DATA_DIR ?? '',
    eventstore_url: environment.EVENTSTORE_URL ?? null,
  })
  const lines: string[] = []
  for await (const { position, stream, revision, type, data, metadata } of readToEnd(log))
    lines.push(JSON.stringify({ position, stream, revision, type, data, metadata }))
  await log.close()
  return lines
}

async function writeLines(lines: readonly string[]): Promise<string> {
  const file = path.join(await makeFolder(), 'events.jsonl')
  await writeFile(file, lines.map((line) => `${line}\n`).join(''))
  expect(await readFile(file, 'utf8')).to.contain('position')
  return file
}

function withoutPosition(line: string): unknown {
  return { ...JSON.parse(line), position: undefined }
}

/** Creates a firewall rule and returns its path. */
async function createRule(gateway: RunningGateway, pattern: string): Promise<string> {
  const rule = firewallRuleBody({ name: pattern, pattern, action: 'warn' })
  const { status, body } = await gateway.call('POST', '/v1/firewall-rules', rule)
  expect(status).to.equal(201)
  return `/v1/firewall-rules/${body.data.id}`
}
