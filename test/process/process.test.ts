import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { expect } from 'chai'
import { chatBody } from '../support/bodies.ts'
import { makeFolder } from '../support/folders.ts'
import { AS_ADMIN, startGatewayOnFiles } from '../support/gateway.ts'
import { runSignalbox, startGatewayProcess } from '../support/gateway-process.ts'
import { BUILT_IN, installAll, listPlugins } from '../support/plugins.ts'
import { openSocket } from '../support/raw-http.ts'
import { withSettings } from '../support/settings.ts'
import { writeSettings } from '../support/settings-file.ts'
import { disconnectInMidStream } from '../support/streams.ts'
import { waitUntil } from '../support/wait.ts'

describe('the process', () => {
  it('prints plugins and sandbox at each start, and the demo key at the first', async () => {
    const first = await startGatewayProcess()
    expect(first.stderr()).to.contain(
      'auth -> rate-limit -> plan -> responses -> messages -> firewall -> routing -> budget -> ledger -> dispatch -> shadow -> decorate -> rules -> policies -> models -> audit -> what-if -> routers -> overview -> feedback -> metrics -> openapi -> console',
    )
    expect(first.stderr()).to.contain('stands in for every provider')
    expect(first.demoKey).to.match(/^tr_[0-9A-Za-z]{43}$/)
    await first.stop()
    const second = await startGatewayProcess({}, { dataDir: first.dataDir })
    expect(second.stderr()).not.to.contain('tr_')
    await second.stop()
  })

  for (const WORKERS of ['1', '2']) {
    it(`creates no user once a provider has a key, and says how to: ${WORKERS} workers`, async () => {
      const gateway = await startGatewayProcess({ OPENAI_API_KEY: 'a-real-key', WORKERS })
      await gateway.wrote('npx signalbox users add --name Ada --plan paid')
      expect(gateway.stderr()).not.to.match(/tr_|SIGNALBOX_KEY/)
      await gateway.stop()
    })
  }

  it('exits when its address is in use, and says which', async () => {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const second = await runSignalbox(['start'], {
      PORT: String(port),
      ROUTE_PORT: '0',
      DATA_DIR: await makeFolder(),
    })
    expect(second.code).to.equal(1)
    expect(second.stderr).to.contain(`127.0.0.1:${port} is already in use. Stop the other process`)
    server.close()
  })

  it('finishes a running stream on SIGTERM, accepts no new requests, and exits with 0', async () => {
    const gateway = await startGatewayProcess()
    const chunks = await gateway.openai().chat.completions.create({
      model: 'gpt-4o',
      messages: [{ role: 'user', content: 'A slow one [[sandbox:token-delay=40]]' }],
      stream: true,
    })
    let text = ''
    let exited: Promise<number | null> | undefined
    for await (const chunk of chunks) {
      exited ??= gateway.stop()
      text += chunk.choices[0]?.delta.content ?? ''
    }
    expect(text).to.contain('A slow one')
    expect(await exited).to.equal(0)
    await fetch(`${gateway.url}/healthz`).then(
      () => expect.fail('it answered'),
      (error) => expect(error.message).to.contain('fetch failed'),
    )
  })

  it('aborts requests that do not end within the drain time', async () => {
    const gateway = await startGatewayProcess(await withSettings('timeouts: { drain_ms: 200 }'))
    const hanging = gateway
      .call('POST', '/v1/chat/completions', chatBody('[[sandbox:hang]]'))
      .catch(() => 'cut')
    await gateway.call('GET', '/healthz')
    expect(await gateway.stop()).to.equal(0)
    expect(await hanging).to.equal('cut')
  })

  it('writes only lines of JSON after its banner, also for clients that disconnect', async () => {
    const gateway = await startGatewayProcess()
    const banner = gateway.stderr()
    for (const content of ['[[sandbox:token-delay=20]]', '[[sandbox:error-mid=9]]', '[[sandbox:cut]]'])
      await disconnectInMidStream(gateway, chatBody(content))
    await gateway.stop()
    const lines = gateway.stderr().slice(banner.length).split('\n').filter(Boolean)
    expect(lines.filter((line) => !line.startsWith('{'))).to.deep.equal([])
    expect(lines.filter((line) => line.includes('"path"'))).to.have.length(3)
  })

  it('does not wait for idle connections when it stops', async function () {
    // Well under the drain time, which is 30 s.
    this.timeout(25_000)
    const gateway = await startGatewayProcess()
    const socket = await openSocket(gateway.url)
    await gateway.call('GET', '/healthz')
    expect(await gateway.stop()).to.equal(0)
    socket.destroy()
  })
})

describe('a start that is refused', () => {
  it('prints one sentence, and exits with 1', async () => {
    const folder = await installAll({ broken: `throw new Error('no database\\nand more')` })
    const environment = { CONFIG: await listPlugins(folder, [...BUILT_IN, 'broken']), DATA_DIR: folder }

    const { code, stdout, stderr } = await runSignalbox(['start'], environment, folder)

    expect({ code, stdout }).to.deep.equal({ code: 1, stdout: '' })
    expect(stderr).to.contain('no database')
    expect(stderr.trimEnd().split('\n')).to.have.length(1)
  })
})

describe('settings', () => {
  it('that are invalid are all reported, and nothing starts', async () => {
    const folder = await makeFolder()
    const config = path.join(folder, 'settings.yaml')
    await writeFile(config, 'port: -1\nplugins: []\nmodes: { cost: { quality: 1 } }\nno_such: 1\n')
    const { code, stdout, stderr } = await runSignalbox(['start'], {
      CONFIG: config,
      PORT: 'eighty',
      WORKERS: '0',
    })
    expect(code).to.equal(1)
    expect(stdout).to.equal('')
    for (const fault of [
      'PORT must be',
      'WORKERS',
      'port must be between 0 and 65535',
      'plugins must',
      'no_such',
    ]) {
      expect(stderr).to.contain(fault)
    }
  })

  it('are accepted under a deprecated name, with a warning in the log', async () => {
    const gateway = await startGatewayProcess({ CONFIG: await writeSettings('responses: { keep_days: 3 }') })
    expect(gateway.stderr()).to.contain(
      'setting responses.keep_days is deprecated; use responses.retention_days',
    )
    await gateway.stop()
  })

  it('are checked by "config check"', async () => {
    const folder = await makeFolder()
    const config = path.join(folder, 'settings.yaml')
    await writeFile(config, 'log_level: loud')
    const wrong = await runSignalbox(['config', 'check'], { CONFIG: config })
    expect(wrong.code).to.equal(1)
    expect(wrong.stderr).to.contain('log_level must be one of')
    const right = await runSignalbox(['config', 'check'])
    expect(right.code).to.equal(0)
    expect(right.stdout).to.match(/^Plugins: auth -> .*\nThe settings and plugins are valid\.\n$/)
  })

  it('with invalid networks and origins are refused', async () => {
    const config = await writeSettings(
      'trusted_proxies: [10.0.0.0/8, localhost, 10.0.0.0/33]\n' +
        "cors: { origins: ['https://a.example', 'https://a.example/', 'https://*.example', 'null'] }\n",
    )
    const { code, stderr } = await runSignalbox(['config', 'check'], { CONFIG: config })
    expect(code).to.equal(1)
    for (const place of ['trusted_proxies[1]', 'trusted_proxies[2]'])
      expect(stderr).to.contain(`${place} must be an IP address or a CIDR block`)
    for (const place of ['cors.origins[1]', 'cors.origins[2]', 'cors.origins[3]'])
      expect(stderr).to.contain(`${place} must be "*" or an origin`)
    expect(stderr.match(/\n/g)).to.have.length(6)
  })

  it('in a file that cannot be read are refused, with its name', async () => {
    const { code, stderr } = await runSignalbox(['config', 'check'], { CONFIG: '/nowhere/settings.yaml' })
    expect(code).to.equal(1)
    expect(stderr).to.contain('/nowhere/settings.yaml')
  })
})

describe('the command line', () => {
  it('creates users and keys that a running gateway accepts', async () => {
    const gateway = await startGatewayOnFiles()
    const environment = { DATA_DIR: gateway.dataDir }
    const added = JSON.parse(
      (await runSignalbox(['users', 'add', '--name', 'Ada', '--plan', 'paid'], environment)).stdout,
    )
    expect(added).to.include({ name: 'Ada', plan: 'paid' })
    const second = JSON.parse((await runSignalbox(['keys', 'add', String(added.id)], environment)).stdout)
    const status = async (key: string) =>
      (await gateway.call('GET', '/v1/firewall-rules', undefined, { authorization: `Bearer ${key}` })).status
    await waitUntil(async () => (await status(second.key)) !== 401)
    expect(await status(added.key)).to.equal(200)

    await runSignalbox(['users', 'plan', String(added.id), 'free'], environment)
    await waitUntil(async () => (await status(added.key)) !== 200)
    expect(await status(added.key)).to.equal(403)

    await runSignalbox(['keys', 'revoke', second.id], environment)
    await waitUntil(async () => (await status(second.key)) !== 403)
    expect(await status(second.key)).to.equal(401)
    await gateway.stop()
  })

  it('lists users without their keys', async () => {
    const dataDir = await makeFolder()
    const added = await runSignalbox(['users', 'add', '--name', 'Ada', '--plan', 'free'], {
      DATA_DIR: dataDir,
    })
    const { stdout } = await runSignalbox(['users', 'list'], { DATA_DIR: dataDir })
    const listed = JSON.parse(stdout)
    expect(listed).to.include({ name: 'Ada', plan: 'free' })
    expect(listed.keys).to.deep.equal([JSON.parse(added.stdout).key_id])
    expect(stdout).not.to.contain('tr_')
  })

  it('prints its usage for an unknown command', async () => {
    const { code, stderr } = await runSignalbox(['frobnicate'])
    expect(code).to.equal(2)
    expect(stderr).to.contain('Usage:')
  })

  it('reports a missing user in one line', async () => {
    const dataDir = await makeFolder()
    const { code, stderr } = await runSignalbox(['keys', 'add', '77'], { DATA_DIR: dataDir })
    expect(code).to.equal(1)
    expect(stderr).to.equal('User 77 was not found.\n')
  })
})

describe('the address of the metrics', () => {
  it('may be a separate port, without a key, and then the only one', async () => {
    const gateway = await startGatewayProcess({ METRICS_PORT: '0' })
    const url = gateway.stderr().match(/http:\/\/[\d.:]+\/metrics/)?.[0] ?? ''
    const response = await fetch(url)
    expect(response.status).to.equal(200)
    expect(await response.text()).to.contain('signalbox_projection_position')
    expect((await fetch(url.replace('/metrics', '/healthz'))).status).to.equal(404)
    expect((await fetch(`${gateway.url}/metrics`, { headers: AS_ADMIN })).status).to.equal(404)
    expect(await gateway.stop()).to.equal(0)
  })
})
