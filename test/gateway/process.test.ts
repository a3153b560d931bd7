import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import path from 'node:path'
import { expect } from 'chai'
import { ADMIN_KEY, makeFolder, runSignalbox, startGateway } from '../support/gateway.ts'
import { openSocket } from '../support/raw-http.ts'
import { writeSettings } from '../support/settings-file.ts'

const body = (content: string, more: object = {}) => ({
  model: 'gpt-4o',
  messages: [{ role: 'user', content }],
  ...more,
})

describe('the process', () => {
  it('says when it is ready, alive and serving', async () => {
    const gateway = await startGateway()
    expect((await gateway.call('GET', '/healthz')).status).to.equal(200)
    expect((await gateway.call('GET', '/readyz')).status).to.equal(200)
    await gateway.stop()
  })

  it('shows order of plugins, sandbox and demo key at the first start, the key never again', async () => {
    const first = await startGateway()
    expect(first.stderr()).to.contain(
      'auth -> rate-limit -> plan -> trace -> responses -> firewall -> routing -> dispatch -> decorate -> rules -> models -> audit -> metrics -> openapi',
    )
    expect(first.stderr()).to.contain('stands in for every provider')
    expect(first.demoKey).to.match(/^tr_[0-9A-Za-z]{43}$/)
    await first.stop()
    const second = await startGateway({}, { dataDir: first.dataDir })
    expect(second.stderr()).not.to.contain('tr_')
    await second.stop()
  })

  it('says which address is taken, and ends', async () => {
    const first = await startGateway()
    const { port } = new URL(first.url)
    const second = await runSignalbox(['start'], {
      PORT: port,
      ROUTE_PORT: '0',
      DATA_DIR: await makeFolder(),
    })
    expect(second.code).to.equal(1)
    expect(second.stderr).to.contain(`127.0.0.1:${port} is already in use. Stop the other process`)
    await first.stop()
  })

  it('says nothing of a sandbox when a provider key is configured', async () => {
    const gateway = await startGateway({
      OPENAI_API_KEY: 'sk-test',
      OPENAI_BASE_URL: 'http://127.0.0.1:9/v1',
    })
    expect(gateway.stderr()).not.to.contain('sandbox')
    await gateway.stop()
  })

  it('lets a running stream end on SIGTERM, takes nothing new, and exits with 0', async () => {
    const gateway = await startGateway()
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

  it('cuts what does not end within the limit', async () => {
    const dataDir = await makeFolder()
    const config = path.join(dataDir, 'settings.yaml')
    await writeFile(config, 'timeouts: { drain_ms: 200 }')
    const gateway = await startGateway({ CONFIG: config }, { dataDir })
    const hanging = gateway.call('POST', '/v1/chat/completions', body('[[sandbox:hang]]')).catch(() => 'cut')
    await gateway.call('GET', '/healthz')
    expect(await gateway.stop()).to.equal(0)
    expect(await hanging).to.equal('cut')
  })

  it('logs requests without keys and without texts', async () => {
    const gateway = await startGateway()
    await gateway.call('POST', '/v1/chat/completions', body('a very private sentence'))
    await gateway.call('POST', '/v1/chat/completions', body('another private one [[sandbox:status=500]]'))
    await gateway.call('POST', '/v1/firewall-rules', { name: 'private rule' })
    await gateway.stop()
    const log = gateway
      .stderr()
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .join('\n')
    expect(log).to.contain('/v1/chat/completions')
    expect(log).not.to.contain('private')
    expect(log).not.to.contain(gateway.demoKey)
    expect(log).not.to.contain(ADMIN_KEY)
  })

  it('writes nothing but lines of JSON behind its banner, also of clients that leave', async () => {
    const gateway = await startGateway()
    const banner = gateway.stderr()
    for (const content of ['[[sandbox:token-delay=20]]', '[[sandbox:error-mid=9]]', '[[sandbox:cut]]']) {
      const leaving = new AbortController()
      const answer = await fetch(`${gateway.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${gateway.demoKey}`, 'content-type': 'application/json' },
        body: JSON.stringify(body(content, { stream: true })),
        signal: leaving.signal,
      })
      await answer.body?.getReader().read()
      leaving.abort()
    }
    await gateway.stop()
    const lines = gateway.stderr().slice(banner.length).split('\n').filter(Boolean)
    expect(lines.filter((line) => !line.startsWith('{'))).to.deep.equal([])
    expect(lines.filter((line) => line.includes('"path"'))).to.have.length(3)
  })

  it('refuses a body over the limit with 413', async () => {
    const dataDir = await makeFolder()
    const config = path.join(dataDir, 'settings.yaml')
    await writeFile(config, 'limits: { body_bytes: 2000 }')
    const gateway = await startGateway({ CONFIG: config }, { dataDir })
    const { status, body: answer } = await gateway.call(
      'POST',
      '/v1/chat/completions',
      body('x'.repeat(3000)),
    )
    expect(status).to.equal(413)
    expect(answer.error.message).to.contain('2000')
    await gateway.stop()
  })

  it('waits for nobody who has opened a connection and said nothing, when it stops', async () => {
    const gateway = await startGateway()
    const socket = await openSocket(gateway.url)
    await gateway.call('GET', '/healthz')
    const started = performance.now()
    expect(await gateway.stop()).to.equal(0)
    expect(performance.now() - started).to.be.lessThan(10_000)
    socket.destroy()
  })

  it('refuses the next request on a connection that was kept alive, while it stops, by closing it', async () => {
    const gateway = await startGateway()
    const call = request(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${gateway.demoKey}`,
        'content-type': 'application/json',
        connection: 'keep-alive',
      },
    })
    call.end(JSON.stringify(body('[[sandbox:first-byte=300]]')))
    await once(call, 'socket')
    await gateway.call('GET', '/healthz')
    const [[response]] = await Promise.all([once(call, 'response'), gateway.stop()])
    expect(response.statusCode).to.equal(200)
    response.resume()
  })
})

describe('settings', () => {
  it('that are wrong are all named at once, and nothing starts', async () => {
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
    const gateway = await startGateway({ CONFIG: await writeSettings('responses: { keep_days: 3 }') })
    expect(gateway.stderr()).to.contain(
      'setting responses.keep_days is deprecated; use responses.retention_days',
    )
    await gateway.stop()
  })

  it('are checked by "config check" in the same way', async () => {
    const folder = await makeFolder()
    const config = path.join(folder, 'settings.yaml')
    await writeFile(config, 'log_level: loud')
    const wrong = await runSignalbox(['config', 'check'], { CONFIG: config })
    expect(wrong.code).to.equal(1)
    expect(wrong.stderr).to.contain('log_level must be one of')
    const right = await runSignalbox(['config', 'check'])
    expect(right).to.include({ code: 0, stdout: 'The settings and plugins are valid.\n' })
  })

  it('name networks and origins that are none', async () => {
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

  it('name the file that cannot be read', async () => {
    const { code, stderr } = await runSignalbox(['config', 'check'], { CONFIG: '/nowhere/settings.yaml' })
    expect(code).to.equal(1)
    expect(stderr).to.contain('/nowhere/settings.yaml')
  })
})

describe('the command line', () => {
  it('makes users and keys that a running gateway accepts', async () => {
    const gateway = await startGateway()
    const environment = { DATA_DIR: gateway.dataDir }
    const added = JSON.parse(
      (await runSignalbox(['users', 'add', '--name', 'Ada', '--plan', 'paid'], environment)).stdout,
    )
    expect(added).to.include({ name: 'Ada', plan: 'paid' })
    const second = JSON.parse((await runSignalbox(['keys', 'add', String(added.id)], environment)).stdout)
    const status = async (key: string) =>
      (await gateway.call('GET', '/v1/firewall-rules', undefined, { authorization: `Bearer ${key}` })).status
    while ((await status(second.key)) === 401) await new Promise(setImmediate)
    expect(await status(added.key)).to.equal(200)

    await runSignalbox(['users', 'plan', String(added.id), 'free'], environment)
    while ((await status(added.key)) === 200) await new Promise(setImmediate)
    expect(await status(added.key)).to.equal(403)

    await runSignalbox(['keys', 'revoke', second.id], environment)
    while ((await status(second.key)) === 403) await new Promise(setImmediate)
    expect(await status(second.key)).to.equal(401)
    await gateway.stop()
  })

  it('lists users without any key', async () => {
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

  it('explains itself when it is not understood', async () => {
    const { code, stderr } = await runSignalbox(['frobnicate'])
    expect(code).to.equal(2)
    expect(stderr).to.contain('Usage:')
  })

  it('says in one line what does not exist', async () => {
    const dataDir = await makeFolder()
    const { code, stderr } = await runSignalbox(['keys', 'add', '77'], { DATA_DIR: dataDir })
    expect(code).to.equal(1)
    expect(stderr).to.equal('User 77 was not found.\n')
  })
})
