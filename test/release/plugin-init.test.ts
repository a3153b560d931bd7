import { execFile } from 'node:child_process'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { routingRuleBody } from '../support/bodies.ts'
import { makeFolder } from '../support/folders.ts'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import { runSignalbox } from '../support/gateway-process.ts'
import { completion, type ScriptedProvider, startScriptedProvider } from '../support/scripted-provider.ts'
import { writeSettings } from '../support/settings-file.ts'

const execute = promisify(execFile)

const FILES = ['README.md', 'gateway.test.js', 'index.js', 'index.test.js', 'package.json']

describe('"plugin init"', () => {
  it('writes a package that passes its tests and works in a gateway', async () => {
    const folder = await makeFolder()
    const { code, stdout, stderr } = await runSignalbox(['plugin', 'init', 'signalbox-short'], {}, folder)
    expect({ code, stderr }).to.deep.equal({ code: 0, stderr: '' })
    const home = path.join(folder, 'signalbox-short')
    expect(await readdir(home)).to.have.members([...FILES, 'node_modules'])
    expect(stdout).to.contain(
      `Wrote package.json, gateway.test.js, index.js, index.test.js, README.md to ${home}.`,
    )
    const manifest = JSON.parse(await readFile(path.join(home, 'package.json'), 'utf8'))
    expect(manifest).to.deep.include({
      name: 'signalbox-short',
      peerDependencies: { signalbox: '^1.0.0' },
    })

    const tested = await execute('npm', ['test', '--offline'], { cwd: home })
    expect(tested.stdout).to.match(/^. pass 4$/m)
    expect(tested.stdout).to.match(/^. fail 0$/m)

    const added = { use: './signalbox-short/index.js', before: 'firewall', options: { max_messages: 1 } }
    const CONFIG = await writeSettings(`plugins: ${JSON.stringify({ add: [added] })}`)
    const gateway = await startGateway({ CONFIG }, { pluginFolder: folder })
    const ask = (...texts: readonly string[]) =>
      gateway.call('POST', '/v1/chat/completions', {
        messages: texts.map((content) => ({ role: 'user', content })),
      })
    expect((await ask('Hello')).status).to.equal(200)
    const { status, body } = await ask('Hello', 'Which track?')
    expect(status).to.equal(400)
    expect(body.error).to.include({
      message: 'A request may have at most 1 messages, not 2.',
      param: 'messages',
    })
    await gateway.stop()
  })

  describe('of a kind', () => {
    let provider: ScriptedProvider
    before(async () => {
      provider = await startScriptedProvider()
    })
    after(() => provider.close())

    /** Writes a package of the kind, runs its tests, and starts a gateway with it. */
    async function startWith(kind: string, settings = ''): Promise<RunningGateway> {
      const folder = await makeFolder()
      const { code, stderr } = await runSignalbox(['plugin', 'init', 'mine', '--kind', kind], {}, folder)
      expect({ code, stderr }).to.deep.equal({ code: 0, stderr: '' })
      const tested = await execute('npm', ['test', '--offline'], { cwd: path.join(folder, 'mine') })
      expect(tested.stdout).to.match(/^. pass 4$/m)
      const added = { use: './mine/index.js', before: 'firewall' }
      const CONFIG = await writeSettings(`${settings}plugins: ${JSON.stringify({ add: [added] })}`)
      const keys = { OPENAI_API_KEY: 'sk-test', ACME_KEY: 'sk-test', OPENAI_BASE_URL: provider.url }
      return startGateway({ CONFIG, ...keys }, { pluginFolder: folder })
    }

    const requestOf = (model: string) => ({ model, messages: [{ role: 'user', content: 'Hello' }] })

    it('rule adds a condition and an action', async () => {
      provider.play({ body: completion({ content: 'Hi' }) })
      const gateway = await startWith('rule')
      const rule = routingRuleBody({ match_json: { team: 'red' }, action_json: { instruct: 'Be brief.' } })
      expect((await gateway.call('POST', '/v1/routing-rules', rule)).status).to.equal(201)
      for (const [team, count] of [
        ['blue', 1],
        ['red', 2],
      ] as const) {
        const headers = { 'x-team': team }
        await gateway.call('POST', '/v1/chat/completions', requestOf('gpt-4o'), headers)
        expect(provider.last()?.body.messages).to.have.length(count)
      }
      await gateway.stop()
    })

    it('filter replaces phrases in replies', async () => {
      provider.play({ body: completion({ content: 'About PROJECT X.' }) })
      const gateway = await startWith('filter')
      const { body } = await gateway.call('POST', '/v1/chat/completions', requestOf('gpt-4o'))
      expect(body.choices[0].message.content).to.equal('About [removed].')
      await gateway.stop()
    })

    it('provider adds a format', async () => {
      provider.play({ body: completion({ content: 'Hi' }) })
      const row = { format: 'acme', base_url: provider.url, key_variable: 'ACME_KEY' }
      const gateway = await startWith('provider', `providers: ${JSON.stringify({ acme: row })}\n`)
      const request = { ...requestOf('acme:fast'), max_completion_tokens: 7, temperature: 2 }
      expect((await gateway.call('POST', '/v1/chat/completions', request)).status).to.equal(200)
      expect(provider.last()?.body).to.include({ max_tokens: 7, temperature: 1 })
      await gateway.stop()
    })

    it('refuses others', async () => {
      const folder = await makeFolder()
      const { code, stderr } = await runSignalbox(['plugin', 'init', 'mine', '--kind', 'cake'], {}, folder)
      expect(code).to.equal(2)
      expect(stderr).to.contain('--kind must be one of request, rule, filter, provider.')
    })
  })

  it('writes into the given folder, which may have other files', async () => {
    const folder = await makeFolder()
    await mkdir(path.join(folder, 'mine'))
    await writeFile(path.join(folder, 'mine/notes.txt'), 'a note')
    const { code } = await runSignalbox(['plugin', 'init', '@acme/limits', 'mine'], {}, folder)
    expect(code).to.equal(0)
    expect(await readdir(path.join(folder, 'mine'))).to.have.members([...FILES, 'node_modules', 'notes.txt'])
    expect(await readFile(path.join(folder, 'mine/index.js'), 'utf8')).to.contain("name: '@acme/limits'")
    const tested = await execute('npm', ['test', '--offline'], { cwd: path.join(folder, 'mine') })
    expect(tested.stdout).to.match(/^. pass 4$/m)
  })

  it('never overwrites a file, and then writes nothing', async () => {
    const folder = await makeFolder()
    await writeFile(path.join(folder, 'index.js'), 'mine')
    const { code, stdout, stderr } = await runSignalbox(['plugin', 'init', 'limits', '.'], {}, folder)
    expect({ code, stdout }).to.deep.equal({ code: 1, stdout: '' })
    expect(stderr).to.equal(
      `${folder} already contains index.js, so nothing was written. Choose another folder.\n`,
    )
    expect(await readdir(folder)).to.deep.equal(['index.js'])
    expect(await readFile(path.join(folder, 'index.js'), 'utf8')).to.equal('mine')
  })

  for (const [name, message] of [
    ['Limits', 'NAME must be a name of an npm package'],
    ['../limits', 'NAME must be a name of an npm package'],
    ['http', 'NAME must not be http, which npm refuses as the name of a package.'],
    ['worker_threads', 'NAME must not be worker_threads, which npm refuses'],
    ['node_modules', 'NAME must not be node_modules, which npm refuses'],
    ['favicon.ico', 'NAME must not be favicon.ico, which npm refuses'],
    ['firewall', 'NAME must not be firewall, which is part of the gateway.'],
  ] as const) {
    it(`refuses the name ${name}`, async () => {
      const folder = await makeFolder()
      const { code, stderr } = await runSignalbox(['plugin', 'init', name], {}, folder)
      expect(code).to.equal(2)
      expect(stderr).to.contain(message)
      expect(stderr).to.contain('See "signalbox plugin init --help".')
      expect(await readdir(folder)).to.deep.equal([])
    })
  }
})
