import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { expect } from 'chai'
import { runCommand } from '../support/command.ts'
import { makeFolder } from '../support/folders.ts'
import { type GatewayProcess, runSignalbox, startGatewayProcess } from '../support/gateway-process.ts'
import { SECRET, writeSecret } from '../support/secrets.ts'
import { writeSettings } from '../support/settings-file.ts'
import { skip } from '../support/skip.ts'

describe('secrets in files', () => {
  it('that cannot be used are all reported with their file, and not shown', async () => {
    const [twice, words, nothing] = [
      await writeSecret(SECRET),
      await writeSecret(`${SECRET} ${SECRET}`),
      '/nowhere/key',
    ]
    const { code, stderr } = await runCommand(['config', 'check'], {
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

describe('invalid secrets', () => {
  it('are not shown with DEBUG', async () => {
    const CONFIG = await writeSettings(`admin_key: *${SECRET}`)
    const { code, stdout, stderr } = await runSignalbox(['config', 'check'], { CONFIG, DEBUG: '1' })
    expect(code).to.equal(1)
    expect(stderr).to.match(/^The settings have/)
    expect(stdout + stderr).not.to.contain(SECRET.slice(0, 15))
  })

  it('are not shown: in the environment, with an unavailable event log', async () => {
    const { stdout, stderr, code } = await runSignalbox(['users', 'list'], {
      EVENTSTORE_URL: `esdb://admin:${SECRET}@127.0.0.1:9?tls=false`,
      ADMIN_KEY: `${SECRET}-of-the-admin`,
      OPENAI_API_KEY: SECRET,
      DEBUG: '1',
    })
    expect(code).to.equal(1)
    expect(stdout + stderr).not.to.contain(SECRET)
  })

  it('are refused as options of the command line', async () => {
    for (const option of ['--admin-key', '--api-key', '--key', '--redis-url']) {
      const { code, stderr } = await runCommand(['start', `${option}=${SECRET}`])
      expect(code).to.equal(2)
      expect(stderr).to.contain('See "signalbox start --help"').and.not.to.contain(SECRET)
    }
  })
})

describe('secrets of a running gateway', () => {
  let gateway: GatewayProcess
  before(async () => {
    const folder = await makeFolder()
    const plugin = path.join(folder, 'look.mjs')
    await writeFile(plugin, LOOK)
    gateway = await startGatewayProcess({
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

  it('are not in the command line of the process', async function () {
    const commandLine = await readFile(`/proc/${gateway.process.pid}/cmdline`, 'utf8').catch(() => undefined)
    if (commandLine === undefined) return skip(this, 'there is no /proc on this system')
    expect(commandLine).to.contain('start').and.not.to.contain(SECRET)
  })

  it('are removed from the environment of plugins and their child processes', async () => {
    const { body } = await gateway.call('GET', '/look')
    expect(body.own).to.contain('something else').and.not.to.contain(SECRET)
    expect(body.child).to.contain('something else').and.not.to.contain(SECRET)
  })
})

const LOOK = `import { execFileSync } from 'node:child_process'
const program = 'process.stdout.write(JSON.stringify(process.env))'
export default {
  name: 'look',
  contract: 3,
  setup: () => ({
    endpoints: [{
      method: 'GET', path: '/look', access: { type: 'public' }, operationId: 'look', summary: 'Looks.', tags: [],
      responses: { 200: { description: 'The environments.' } },
      handle() {
        const child = execFileSync(process.execPath, ['-e', program], { encoding: 'utf8' })
        return { status: 200, body: { own: JSON.stringify(process.env), child } }
      },
    }],
  }),
}`
