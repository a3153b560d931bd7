import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { expect } from 'chai'
import { type Sandbox, startSandbox } from '../../providers/sandbox/server.ts'
import { makeFolder, type RunningGateway, runSignalbox, startGateway } from '../support/gateway.ts'
import { writeSettings } from '../support/settings-file.ts'

const SECRET = 'a-secret-that-nobody-is-to-see'

async function writeSecret(text: string): Promise<string> {
  const file = path.join(await makeFolder(), 'secret')
  await writeFile(file, text)
  return file
}

describe('secrets in files', () => {
  let sandbox: Sandbox
  before(async () => {
    sandbox = await startSandbox({ record: 10 })
  })
  after(() => sandbox.close())

  it('are used in place of variables', async () => {
    const gateway = await startGateway({
      ADMIN_KEY: '',
      ADMIN_KEY_FILE: await writeSecret(`${SECRET}\n`),
      OPENAI_API_KEY_FILE: await writeSecret('  the-provider-key\r\n'),
      OPENAI_BASE_URL: `${sandbox.url}/openai/v1`,
    })
    const asAdmin = { authorization: `Bearer ${SECRET}` }
    expect((await gateway.call('GET', '/admin/users', undefined, asAdmin)).status).to.equal(200)
    const body = { model: 'gpt-4o', messages: [{ role: 'user', content: 'Hello' }] }
    expect((await gateway.call('POST', '/v1/chat/completions', body)).status).to.equal(200)
    expect(sandbox.requests.at(-1)?.headers.authorization).to.equal('Bearer the-provider-key')
    await gateway.stop()
  })

  it('are read under the name that a provider gives its variable', async () => {
    const CONFIG = await writeSettings(
      `providers: { own: { format: openai, base_url: '${sandbox.url}/openai/v1', key_variable: MY_OWN_KEY } }`,
    )
    const gateway = await startGateway({ CONFIG, MY_OWN_KEY_FILE: await writeSecret('my-own') })
    const body = { model: 'own:something', messages: [{ role: 'user', content: 'Hello' }] }
    expect((await gateway.call('POST', '/v1/chat/completions', body)).status).to.equal(200)
    expect(sandbox.requests.at(-1)?.headers.authorization).to.equal('Bearer my-own')
    await gateway.stop()
  })

  it('that cannot be used are named with their file, all at once, and not shown', async () => {
    const [twice, words, nothing] = [
      await writeSecret(SECRET),
      await writeSecret(`${SECRET} ${SECRET}`),
      '/nowhere/key',
    ]
    const { code, stderr } = await runSignalbox(['config', 'check'], {
      ADMIN_KEY: SECRET,
      ADMIN_KEY_FILE: twice,
      OPENAI_API_KEY_FILE: words,
      GEMINI_API_KEY_FILE: nothing,
      REDIS_URL_FILE: await writeSecret('\n'),
    })
    expect(code).to.equal(1)
    expect(stderr).to.contain('ADMIN_KEY and ADMIN_KEY_FILE are both set; unset one of them')
    expect(stderr).to.contain(
      `OPENAI_API_KEY_FILE must name a file that contains the value only, without spaces: ${words}`,
    )
    expect(stderr).to.contain('GEMINI_API_KEY_FILE cannot be read').and.to.contain(nothing)
    expect(stderr).to.contain('REDIS_URL_FILE must name')
    expect(stderr).not.to.contain(SECRET)
  })
})

describe('secrets that are wrong', () => {
  const settings: Readonly<Record<string, string>> = {
    'on a line that is no YAML': `admin_key: "${SECRET}\nport: 1`,
    'on a line behind a tab': `admin_key:\n\t${SECRET}`,
    'as an alias': `admin_key: *${SECRET}`,
    'as a tag': `admin_key: !${SECRET} x`,
    'that are too short': `admin_key: ${SECRET.slice(0, 15)}`,
    'of the wrong type': `admin_key: [${SECRET}]`,
    'in an address of Redis': `redis_url: http://:${SECRET}@host`,
    'in an address of an event log': `eventstore_url: http://user:${SECRET}@host`,
    'in an address of a provider': `providers: { openai: { base_url: 'ftp://user:${SECRET}@host' } }`,
  }
  for (const [place, yaml] of Object.entries(settings)) {
    it(`are not shown: ${place}`, async () => {
      const CONFIG = await writeSettings(yaml)
      const { code, stdout, stderr } = await runSignalbox(['config', 'check'], { CONFIG, DEBUG: '1' })
      expect(code).to.equal(1)
      expect(stderr).to.match(/^The settings have/)
      expect(stdout + stderr).not.to.contain(SECRET.slice(0, 15))
    })
  }

  it('are not shown: in the environment, with an event log that is not there', async () => {
    const { stdout, stderr, code } = await runSignalbox(['users', 'list'], {
      EVENTSTORE_URL: `esdb://admin:${SECRET}@127.0.0.1:9?tls=false`,
      ADMIN_KEY: `${SECRET}-of-the-admin`,
      OPENAI_API_KEY: SECRET,
      DEBUG: '1',
    })
    expect(code).to.equal(1)
    expect(stdout + stderr).not.to.contain(SECRET)
  })

  it('are taken from no option of the command line', async () => {
    for (const option of ['--admin-key', '--api-key', '--key', '--redis-url']) {
      const { code, stderr } = await runSignalbox(['start', `${option}=${SECRET}`])
      expect(code).to.equal(2)
      expect(stderr).to.contain('Usage:').and.not.to.contain(SECRET)
    }
  })
})

describe('secrets of a running gateway', () => {
  let gateway: RunningGateway
  before(async () => {
    const folder = await makeFolder()
    const plugin = path.join(folder, 'look.mjs')
    await writeFile(plugin, LOOK)
    gateway = await startGateway({
      CONFIG: await writeSettings(
        `plugins: [auth, '${plugin}']\n` +
          `providers: { own: { format: openai, base_url: 'http://127.0.0.1:9', key_variable: MY_OWN_KEY } }`,
      ),
      ADMIN_KEY: `${SECRET}-admin`,
      MY_OWN_KEY: `${SECRET}-own`,
      OPENAI_API_KEY: `${SECRET}-openai`,
      REDIS_URL: `redis://:${SECRET}@127.0.0.1:9`,
      KEPT: 'something else',
    })
  })
  after(() => gateway.stop())

  it('are in no list of processes', async function () {
    const commandLine = await readFile(`/proc/${gateway.process.pid}/cmdline`, 'utf8').catch(() => undefined)
    if (commandLine === undefined) return this.skip()
    expect(commandLine).to.contain('start').and.not.to.contain(SECRET)
  })

  it('are gone from the environment that plugins and their children see', async () => {
    const { body } = await gateway.call('GET', '/look')
    expect(body.own).to.contain('something else').and.not.to.contain(SECRET)
    expect(body.child).to.contain('something else').and.not.to.contain(SECRET)
  })
})

const LOOK = `import { execFileSync } from 'node:child_process'
const program = 'process.stdout.write(JSON.stringify(process.env))'
export default {
  name: 'look',
  setup: () => ({
    publicRoutes(router) {
      router.get('/look', async (ctx) => {
        const child = execFileSync(process.execPath, ['-e', program], { encoding: 'utf8' })
        ctx.body = { own: JSON.stringify(process.env), child }
      })
    },
  }),
}`
