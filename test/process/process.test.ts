import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'chai'
import { chatBody } from '../support/bodies.ts'
import { runCommand } from '../support/command.ts'
import { makeFolder } from '../support/folders.ts'
import { AS_ADMIN, startGatewayOnFiles } from '../support/gateway.ts'
import { readLog } from '../support/gateway-log.ts'
import { type GatewayProcess, runSignalbox, startGatewayProcess } from '../support/gateway-process.ts'
import { BUILT_IN, installAll, listPlugins } from '../support/plugins.ts'
import { openSocket } from '../support/raw-http.ts'
import { withSettings } from '../support/settings.ts'
import { disconnectInMidStream, startStream } from '../support/streams.ts'
import { waitUntil } from '../support/wait.ts'

describe('the process', () => {
  it('prints a banner, the demo key at the first start, and then lines of JSON; signals end it after its streams', async () => {
    const first = await startGatewayProcess({ WORKERS: '1' })
    const banner = first.stderr()
    expect(banner).to.contain(
      'auth -> rate-limit -> plan -> approvals -> responses -> messages -> reasoning -> firewall -> tool-rules -> routing -> budget -> ledger -> dispatch -> shadow -> decorate -> rules -> policies -> identity -> mcp -> models -> audit -> what-if -> routers -> overview -> feedback -> metrics -> openapi -> console',
    )
    expect(banner).to.contain('stands in for every provider')
    expect(first.demoKey).to.match(/^tr_[0-9A-Za-z]{43}$/)

    for (const content of ['[[sandbox:token-delay=20]]', '[[sandbox:error-mid=9]]', '[[sandbox:cut]]'])
      await disconnectInMidStream(first, chatBody(content))
    const running = startStream(first, chatBody('Slow [[sandbox:token-delay=60]]'))
    await running.begun
    expect(await first.stop('SIGHUP')).to.equal(0)
    expect(await running.text).to.match(/\[DONE\]\s*$/)
    const lines = first.stderr().slice(banner.length).split('\n').filter(Boolean)
    expect(lines.filter((line) => !line.startsWith('{'))).to.deep.equal([])
    expect(lines.filter((line) => line.includes('"path"'))).to.have.length(4)
    expect(readLog(first).filter(({ msg }) => msg === 'worker ready')).to.deep.equal([])

    const second = await startGatewayProcess(await withSettings('timeouts: { drain_ms: 600000 }'), {
      dataDir: first.dataDir,
      demoKey: first.demoKey,
    })
    expect(second.stderr()).to.contain('auth -> rate-limit').and.not.to.contain('tr_')
    // An idle connection, for which it must not wait.
    const socket = await openSocket(second.url)
    const chunks = await second.openai().chat.completions.create({
      model: 'gpt-4o',
      messages: [{ role: 'user', content: 'A slow one [[sandbox:token-delay=40]]' }],
      stream: true,
    })
    let text = ''
    let exited: Promise<number | null> | undefined
    for await (const chunk of chunks) {
      exited ??= second.stop()
      text += chunk.choices[0]?.delta.content ?? ''
    }
    expect(text).to.contain('A slow one')
    expect(await exited).to.equal(0)
    socket.destroy()
    await fetch(`${second.url}/healthz`).then(
      () => expect.fail('it answered'),
      (error) => expect(error.message).to.contain('fetch failed'),
    )
  })

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

  it('ends requests that take longer than the drain time with 503', async () => {
    const gateway = await startGatewayProcess(await withSettings('timeouts: { drain_ms: 200 }'))
    const hanging = gateway.call('POST', '/v1/chat/completions', chatBody('[[sandbox:hang]]'))
    await gateway.call('GET', '/healthz')
    expect(await gateway.stop()).to.equal(0)
    const { status, body } = await hanging
    expect([status, body.error.code]).to.deep.equal([503, 'shutting_down'])
  })
})

describe('a process with a key of a provider', () => {
  let gateway: GatewayProcess

  before(async () => {
    gateway = await startGatewayProcess({ OPENAI_API_KEY: 'a-real-key', METRICS_PORT: '0' })
  })
  after(() => gateway?.stop())

  it('creates no user once a provider has a key, and says how to', async () => {
    await gateway.wrote('main.js users add --name Ada --plan paid')
    expect(gateway.stderr()).not.to.match(/tr_|SIGNALBOX_KEY/)
  })

  it('may serve its metrics on a separate port, without a key, and then only there', async () => {
    const url = gateway.stderr().match(/http:\/\/[\d.:]+\/metrics/)?.[0] ?? ''
    const response = await fetch(url)
    expect(response.status).to.equal(200)
    expect(await response.text()).to.contain('signalbox_projection_position')
    expect((await fetch(url.replace('/metrics', '/healthz'))).status).to.equal(404)
    expect((await fetch(`${gateway.url}/metrics`, { headers: AS_ADMIN })).status).to.equal(404)
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

describe('the command line', () => {
  it('creates users and keys that a running gateway accepts', async () => {
    const gateway = await startGatewayOnFiles()
    const environment = { DATA_DIR: gateway.dataDir }
    const added = JSON.parse(
      (await runCommand(['users', 'add', '--name', 'Ada', '--plan', 'paid'], environment)).stdout,
    )
    expect(added).to.include({ name: 'Ada', plan: 'paid' })
    const second = JSON.parse((await runCommand(['keys', 'add', String(added.id)], environment)).stdout)
    const status = async (key: string) =>
      (await gateway.call('GET', '/v1/firewall-rules', undefined, { authorization: `Bearer ${key}` })).status
    await waitUntil(async () => (await status(second.key)) !== 401)
    expect(await status(added.key)).to.equal(200)

    await runCommand(['users', 'plan', String(added.id), 'free'], environment)
    await waitUntil(async () => (await status(added.key)) !== 200)
    expect(await status(added.key)).to.equal(403)

    await runCommand(['keys', 'revoke', second.id], environment)
    await waitUntil(async () => (await status(second.key)) !== 403)
    expect(await status(second.key)).to.equal(401)
    await gateway.stop()
  })
})
