import { once } from 'node:events'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { parse } from 'yaml'
import {
  ADMIN_KEY,
  makeFolder,
  type RunningGateway,
  runSignalbox,
  spawnSignalbox,
  startGateway,
} from '../support/gateway.ts'
import { ROOT } from '../support/root.ts'
import { UNLIMITED } from '../support/settings.ts'
import { writeSettings } from '../support/settings-file.ts'
import { isAlive, logged, readLog, workerPids } from '../support/workers.ts'

const chat = (content: string, more: object = {}) => ({
  model: 'gpt-4o',
  messages: [{ role: 'user', content }],
  ...more,
})

/** A streamed answer as text, or how it broke off. */
async function stream(gateway: RunningGateway, content: string): Promise<string> {
  try {
    const response = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${gateway.demoKey}`,
        'content-type': 'application/json',
        connection: 'close',
      },
      body: JSON.stringify(chat(content, { stream: true })),
    })
    return await response.text()
  } catch (error) {
    return `broken off: ${error}`
  }
}

/** Settings with a plugin that does this in its setup, while the trap is set. */
async function makeTrap(does: string) {
  const folder = await makeFolder()
  const [trap, plugin] = [path.join(folder, 'trap'), path.join(folder, 'plugin.mjs')]
  await writeFile(
    plugin,
    `import { existsSync } from 'node:fs'
    const spring = () => { ${does} }
    export default { name: 'trapped', setup() { if (existsSync(${JSON.stringify(trap)})) spring(); return {} } }`,
  )
  const { plugins } = parse(await readFile(new URL('config/default.yaml', ROOT), 'utf8'))
  const CONFIG = await writeSettings(`${UNLIMITED}plugins: ${JSON.stringify([...plugins, plugin])}`)
  return { CONFIG, set: () => writeFile(trap, ''), remove: () => rm(trap) }
}

const died = (gateway: RunningGateway, times = 1) => logged(gateway, 'worker exited; restarting', times)

const succeed = async (gateway: RunningGateway) =>
  expect(
    (await gateway.call('POST', '/v1/chat/completions', chat('Hello'), { connection: 'close' })).status,
  ).to.equal(200)

describe('a worker that dies', function () {
  this.timeout(60_000)

  it('is replaced, and the streams of the others go on', async () => {
    const gateway = await startGateway({ WORKERS: '2' })
    const pids = await workerPids(gateway, 2)
    const streams = Array.from({ length: 8 }, () => stream(gateway, 'Slow [[sandbox:token-delay=60]]'))
    await sleep(300)
    process.kill(pids.get(1) ?? 0, 'SIGKILL')
    const [line] = await died(gateway)
    expect(line).to.include({ worker: 1, pid: pids.get(1), exit: 'signal SIGKILL' })
    const answers = await Promise.all(streams)
    const whole = answers.filter((text) => text.includes('[DONE]'))
    expect(whole.length).to.be.within(1, 7)
    expect(answers.length - whole.length).to.be.within(1, 7)
    const after = await workerPids(gateway, 3)
    expect(after.get(1)).not.to.equal(pids.get(1))
    expect(after.get(2)).to.equal(pids.get(2))
    for (let n = 0; n < 10; n++) await succeed(gateway)
    expect(await gateway.stop()).to.equal(0)
  })

  it('is replaced when all have died, on the same ports', async () => {
    const gateway = await startGateway({ WORKERS: '2' })
    for (const pid of (await workerPids(gateway, 2)).values()) process.kill(pid, 'SIGKILL')
    await workerPids(gateway, 4)
    await succeed(gateway)
    await gateway.stop()
  })

  it('again and again at the start is replaced slower and slower, while the others serve', async () => {
    const trap = await makeTrap(`process.kill(process.pid, 'SIGKILL')`)
    const gateway = await startGateway({ WORKERS: '2', CONFIG: trap.CONFIG })
    const pids = await workerPids(gateway, 2)
    await trap.set()
    process.kill(pids.get(2) ?? 0, 'SIGKILL')
    const lines = await logged(gateway, 'worker failed to start; retrying', 3)
    const waits = lines.map(({ delayMs }) => Number(delayMs))
    expect(waits).to.deep.equal([waits[0], Number(waits[0]) * 2, Number(waits[0]) * 4])
    await succeed(gateway)
    await trap.remove()
    await workerPids(gateway, 3)
    await gateway.stop()
  })

  it('ends the program when nobody serves, and the next one says why it cannot start', async () => {
    const trap = await makeTrap(`throw new Error('the trap is set')`)
    const gateway = await startGateway({ WORKERS: '2', CONFIG: trap.CONFIG })
    const ended = once(gateway.process, 'close')
    await trap.set()
    for (const pid of (await workerPids(gateway, 2)).values()) process.kill(pid, 'SIGKILL')
    expect(await ended).to.deep.equal([1, null])
    expect(gateway.stderr()).to.match(/plugin "trapped" from ".+" could not be set up: the trap is set\.\n$/)
  })
})

describe('the start of several workers', function () {
  this.timeout(60_000)

  it('that is refused ends the program with the sentence, once', async () => {
    const trap = await makeTrap(`throw new Error('the trap is set')`)
    await trap.set()
    const environment = { WORKERS: '3', CONFIG: trap.CONFIG, PORT: '0', ROUTE_PORT: '0' }
    const { code, stdout, stderr } = await runSignalbox(['start'], {
      ...environment,
      DATA_DIR: await makeFolder(),
    })
    expect({ code, stdout }).to.deep.equal({ code: 1, stdout: '' })
    expect(stderr).to.match(/^plugin "trapped" from ".+" could not be set up: the trap is set\.\n$/)
  })

  for (const variable of ['PORT', 'ROUTE_PORT', 'METRICS_PORT']) {
    it(`says which address is taken, and ends (${variable})`, async () => {
      const server = createServer().listen(0, '127.0.0.1')
      await once(server, 'listening')
      const port = String((server.address() as AddressInfo).port)
      const environment = { WORKERS: '2', PORT: '0', ROUTE_PORT: '0', DATA_DIR: await makeFolder() }
      const { code, stderr } = await runSignalbox(['start'], { ...environment, [variable]: port })
      expect(code).to.equal(1)
      expect(stderr).to.match(new RegExp(`127.0.0.1:${port} is already in use. Stop the other process.*\n$`))
      server.close()
    })
  }

  for (const wrong of ['0', 'two', '-1', '1.5', '1000']) {
    it(`is refused as ${wrong}`, async () => {
      const { code, stderr } = await runSignalbox(['config', 'check'], { WORKERS: wrong })
      expect(code).to.equal(1)
      expect(stderr).to.contain(`WORKERS must be an integer from 1 to 128, not "${wrong}"`)
    })
  }
})

describe('renewing the workers', function () {
  this.timeout(60_000)
  const NOT_RENEWED = 'rolling restart failed; the current workers stay'

  it('brings new settings into force, more and fewer workers too', async () => {
    const CONFIG = await writeSettings(`workers: 2\n${UNLIMITED}`)
    const gateway = await startGateway({ CONFIG })
    const before = await workerPids(gateway, 2)
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
    expect(await gateway.stop()).to.equal(0)
  })

  it('leaves the old ones serving when the new settings are wrong, and the log says what is', async () => {
    const dataDir = await makeFolder()
    const CONFIG = await writeSettings(UNLIMITED)
    const gateway = await startGateway({ WORKERS: '2', CONFIG }, { dataDir })
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
    expect(await refused('plugins: [./nowhere.mjs]', 2)).to.contain('nowhere.mjs')
    expect(await refused('eventstore_url: "esdb://127.0.0.1:9"', 3)).to.contain('eventstore_url')
    expect(readLog(gateway).filter(({ msg }) => msg === 'worker ready')).to.have.length(2)

    await writeFile(CONFIG, UNLIMITED)
    gateway.process.kill('SIGHUP')
    await logged(gateway, 'rolling restart completed')
    await gateway.stop()
  })
})

describe('the end of several workers', function () {
  this.timeout(60_000)

  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    it(`lets running streams end on ${signal}, and the program with 0`, async () => {
      const gateway = await startGateway({ WORKERS: '2' })
      const pids = [...(await workerPids(gateway, 2)).values()]
      const streams = Array.from({ length: 4 }, () => stream(gateway, 'Slow [[sandbox:token-delay=40]]'))
      await sleep(200)
      expect(await gateway.stop(signal)).to.equal(0)
      for (const text of await Promise.all(streams)) expect(text).to.match(/\[DONE\]\s*$/)
      expect(pids.filter(isAlive)).to.deep.equal([])
      await fetch(`${gateway.url}/healthz`).then(
        () => expect.fail('it answered'),
        (error) => expect(error.message).to.contain('fetch failed'),
      )
    })
  }

  it('comes with that of the primary, however that ends', async () => {
    const gateway = await startGateway({ WORKERS: '2' })
    const pids = [...(await workerPids(gateway, 2)).values()]
    await gateway.stop('SIGKILL')
    while (pids.some(isAlive)) await sleep(5)
  })

  it('comes while they are still starting, too', async () => {
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

  it('takes one snapshot, and not one each', async () => {
    const CONFIG = await writeSettings(`${UNLIMITED}snapshots: { every_events: 3 }`)
    const gateway = await startGateway({ WORKERS: '3', CONFIG })
    for (let n = 0; n < 10; n++)
      await gateway.call(
        'POST',
        '/admin/users',
        { name: 'x', plan: 'free' },
        { authorization: `Bearer ${ADMIN_KEY}` },
      )
    await gateway.stop()
    const taken = readLog(gateway).filter(({ msg }) => msg === 'snapshot written')
    expect(taken).not.to.deep.equal([])
    expect(new Set(taken.map(({ worker }) => worker))).to.deep.equal(new Set([1]))
    const paths = taken.map(({ snapshot }) => snapshot)
    expect(new Set(paths).size).to.equal(paths.length)
  })
})

describe('a single process', () => {
  it('starts no other, and ends on SIGHUP as on SIGTERM', async () => {
    const gateway = await startGateway({ WORKERS: '1' })
    expect(readLog(gateway).filter(({ msg }) => msg === 'worker ready')).to.deep.equal([])
    const running = stream(gateway, 'Slow [[sandbox:token-delay=40]]')
    await sleep(200)
    expect(await gateway.stop('SIGHUP')).to.equal(0)
    expect(await running).to.match(/\[DONE\]\s*$/)
  })
})
