import { once } from 'node:events'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { expect } from 'chai'
import { readSettings } from '../../config/settings/settings.ts'
import { chatBody } from '../support/bodies.ts'
import { makeFolder } from '../support/folders.ts'
import { AS_ADMIN } from '../support/gateway.ts'
import { logged, readLog } from '../support/gateway-log.ts'
import {
  type GatewayProcess,
  runSignalbox,
  spawnSignalbox,
  startGatewayProcess,
} from '../support/gateway-process.ts'
import { ROOT } from '../support/root.ts'
import { UNLIMITED } from '../support/settings.ts'
import { writeSettings } from '../support/settings-file.ts'
import { startStreams, textsOf } from '../support/streams.ts'
import { isAlive, workerPids } from '../support/workers.ts'
import { parseYaml } from '../support/yaml.ts'

const SLOW = chatBody('Slow [[sandbox:token-delay=60]]')

/** Settings with a plugin whose setup runs the code of the trap that is set. */
async function makeTrap() {
  const folder = await makeFolder()
  const [trap, plugin] = [path.join(folder, 'trap'), path.join(folder, 'plugin.mjs')]
  await writeFile(
    plugin,
    `import { existsSync, readFileSync } from 'node:fs'
    const trap = ${JSON.stringify(trap)}
    const spring = () => new Function(readFileSync(trap, 'utf8'))()
    export default { name: 'trapped', contract: 3, setup() { if (existsSync(trap)) spring(); return {} } }`,
  )
  const { plugins } = parseYaml(await readFile(new URL('config/default.yaml', ROOT), 'utf8'))
  const CONFIG = await writeSettings(`${UNLIMITED}plugins: ${JSON.stringify([...plugins, plugin])}`)
  return { CONFIG, set: (code: string) => writeFile(trap, code), remove: () => rm(trap) }
}

const died = (gateway: GatewayProcess, times = 1) => logged(gateway, 'worker exited; restarting', times)

const succeed = async (gateway: GatewayProcess) =>
  expect(
    (await gateway.call('POST', '/v1/chat/completions', chatBody('Hello'), { connection: 'close' })).status,
  ).to.equal(200)

/** Stops it while streams run: they end as usual, and then no process is left. */
async function expectGracefulStop(gateway: GatewayProcess, signal: NodeJS.Signals): Promise<void> {
  const pids = [...(await workerPids(gateway, 2)).values()]
  const streams = await startStreams(gateway, 4, SLOW)
  expect(await gateway.stop(signal)).to.equal(0)
  for (const text of await textsOf(streams)) expect(text).to.match(/\[DONE\]\s*$/)
  expect(pids.filter(isAlive)).to.deep.equal([])
  await fetch(`${gateway.url}/healthz`).then(
    () => expect.fail('it answered'),
    (error) => expect(error.message).to.contain('fetch failed'),
  )
}

/** However many workers there are, one of them takes the snapshots, each once. */
function expectSnapshotsOfOneWorker(gateway: GatewayProcess): void {
  const taken = readLog(gateway).filter(({ msg }) => msg === 'snapshot written')
  expect(taken).not.to.deep.equal([])
  expect(new Set(taken.map(({ worker }) => worker))).to.deep.equal(new Set([1]))
  const paths = taken.map(({ snapshot }) => snapshot)
  expect(new Set(paths).size).to.equal(paths.length)
}

describe('a worker that exits', function () {
  this.timeout(180_000)

  it('is replaced, and the streams of the other worker continue, and when all exit, on the same ports, until SIGINT', async () => {
    const CONFIG = await writeSettings(`${UNLIMITED}snapshots: { every_events: 3 }`)
    const gateway = await startGatewayProcess({ WORKERS: '2', CONFIG })
    const pids = await workerPids(gateway, 2)
    const streams = await startStreams(gateway, 8, SLOW)
    process.kill(pids.get(1) ?? 0, 'SIGKILL')
    const [line] = await died(gateway)
    expect(line).to.include({ worker: 1, pid: pids.get(1), exit: 'signal SIGKILL' })
    const answers = await textsOf(streams)
    const whole = answers.filter((text) => text.includes('[DONE]'))
    expect(whole.length).to.be.within(1, 7)
    expect(answers.length - whole.length).to.be.within(1, 7)
    const after = await workerPids(gateway, 3)
    expect(after.get(1)).not.to.equal(pids.get(1))
    expect(after.get(2)).to.equal(pids.get(2))
    for (let n = 0; n < 10; n++) await succeed(gateway)

    for (const pid of after.values()) process.kill(pid, 'SIGKILL')
    await workerPids(gateway, 5)
    await succeed(gateway)
    for (let n = 0; n < 10; n++)
      await gateway.call('POST', '/admin/users', { name: 'x', plan: 'free' }, AS_ADMIN)
    await expectGracefulStop(gateway, 'SIGINT')
    expectSnapshotsOfOneWorker(gateway)
  })

  it('repeatedly at its start is replaced with growing delays, or ends the program when none serves', async () => {
    const trap = await makeTrap()
    const gateway = await startGatewayProcess({ WORKERS: '2', CONFIG: trap.CONFIG })
    const pids = await workerPids(gateway, 2)
    await trap.set(`process.kill(process.pid, 'SIGKILL')`)
    process.kill(pids.get(2) ?? 0, 'SIGKILL')
    const lines = await logged(gateway, 'worker failed to start; retrying', 2)
    const waits = lines.map(({ delayMs }) => Number(delayMs))
    expect(waits).to.deep.equal([waits[0], Number(waits[0]) * 2])
    await succeed(gateway)
    await trap.remove()
    const restored = await workerPids(gateway, 3)

    const ended = once(gateway.process, 'close')
    await trap.set(`throw new Error('the trap is set')`)
    for (const pid of restored.values()) process.kill(pid, 'SIGKILL')
    expect(await ended).to.deep.equal([1, null])
    expect(gateway.stderr()).to.match(/plugin "trapped" from ".+" could not be set up: the trap is set\.\n$/)
  })
})

describe('the start of several workers', function () {
  this.timeout(180_000)

  it('that is refused ends the program with one sentence', async () => {
    const trap = await makeTrap()
    await trap.set(`throw new Error('the trap is set')`)
    const environment = { WORKERS: '2', CONFIG: trap.CONFIG, PORT: '0', ROUTE_PORT: '0' }
    const { code, stdout, stderr } = await runSignalbox(['start'], {
      ...environment,
      DATA_DIR: await makeFolder(),
    })
    expect({ code, stdout }).to.deep.equal({ code: 1, stdout: '' })
    expect(stderr).to.match(/^plugin "trapped" from ".+" could not be set up: the trap is set\.\n$/)
  })

  for (const variable of ['PORT', 'ROUTE_PORT', 'METRICS_PORT']) {
    it(`exits when an address is in use, and says which (${variable})`, async () => {
      const server = createServer().listen(0, '127.0.0.1')
      await once(server, 'listening')
      const port = String((server.address() as AddressInfo).port)
      const environment = { WORKERS: '2', PORT: '0', ROUTE_PORT: '0', DATA_DIR: await makeFolder() }
      const { code, stderr } = await runSignalbox(['start'], { ...environment, [variable]: port })
      expect(code).to.equal(1)
      expect(stderr).to.match(
        new RegExp(`127.0.0.1:${port} is already in use.*set ${variable} to another port\\.\n$`),
      )
      server.close()
    })
  }

  for (const wrong of ['0', 'two', '-1', '1.5', '1000']) {
    it(`is refused with WORKERS=${wrong}`, () => {
      expect(() => readSettings({ WORKERS: wrong })).to.throw(
        `WORKERS must be an integer from 1 to 128, not "${wrong}"`,
      )
    })
  }
})

describe('a rolling restart of the workers', function () {
  this.timeout(180_000)
  const NOT_RENEWED = 'rolling restart failed; the current workers stay'

  it('applies new settings, including more and fewer workers, or keeps the workers if they are invalid', async () => {
    const CONFIG = await writeSettings(`workers: 2\n${UNLIMITED}`)
    const gateway = await startGatewayProcess({ CONFIG })
    const before = await workerPids(gateway, 2)
    const refused = async (settings: string, times: number) => {
      await writeFile(CONFIG, settings)
      gateway.process.kill('SIGHUP')
      const lines = await logged(gateway, NOT_RENEWED, times)
      expect([...before.values()].every(isAlive)).to.equal(true)
      await succeed(gateway)
      return lines.at(-1)?.reason
    }
    expect(await refused('no_such_setting: 1', 1)).to.contain('no_such_setting')
    expect(await refused('workers: 2\nplugins: [./nowhere.mjs]', 2)).to.contain('nowhere.mjs')
    expect(await refused('eventstore_url: "esdb://127.0.0.1:9"', 3)).to.contain('eventstore_url')
    expect(readLog(gateway).filter(({ msg }) => msg === 'worker ready')).to.have.length(2)

    await writeFile(CONFIG, 'workers: 3\nrate_limits: { requests_per_minute: { paid: 77 } }')
    gateway.process.kill('SIGHUP')
    await logged(gateway, 'rolling restart completed')
    const { headers } = await gateway.call('GET', '/v1/models', undefined, { connection: 'close' })
    expect(headers.get('x-ratelimit-limit-requests')).to.equal('77')
    expect([...before.values()].filter(isAlive)).to.deep.equal([])
    const grown = await workerPids(gateway, 5)
    expect([...grown.keys()].sort()).to.deep.equal([1, 2, 3])

    await writeFile(CONFIG, `workers: 1\n${UNLIMITED}`)
    gateway.process.kill('SIGHUP')
    await logged(gateway, 'rolling restart completed', 2)
    const [last] = (await workerPids(gateway, 6)).values()
    expect([...grown.values()].filter(isAlive)).to.deep.equal([])
    expect(isAlive(last ?? 0)).to.equal(true)
    await succeed(gateway)
    await expectGracefulStop(gateway, 'SIGTERM')
  })
})

describe('stopping several workers', function () {
  this.timeout(180_000)

  it('is possible while they start', async () => {
    const child = spawnSignalbox(['start'], {
      WORKERS: '2',
      PORT: '0',
      ROUTE_PORT: '0',
      DATA_DIR: await makeFolder(),
    })
    let stderr = ''
    child.stderr.on('data', (text) => {
      stderr += text
    })
    while (!stderr.includes('worker ready')) await once(child.stderr, 'data')
    child.kill('SIGTERM')
    const [code] = await once(child, 'exit')
    expect({ code, ready: stderr.includes('serves at') }).to.deep.equal({ code: 0, ready: false })
  })
})
