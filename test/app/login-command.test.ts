import { mkdir, readFile, stat, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { Writable } from 'node:stream'
import { expect } from 'chai'
import { runCommand } from '../support/command.ts'
import { approveDevice, signInDevice } from '../support/device-sign-in.ts'
import { makeFolder } from '../support/folders.ts'
import { AS_ADMIN, type RunningGateway, startGateway } from '../support/gateway.ts'
import { newOperator } from '../support/operators.ts'

describe('signalbox login', () => {
  let gateway: RunningGateway
  let environment: Record<string, string>
  let file: string

  before(async () => {
    gateway = await startGateway()
  })
  after(() => gateway.stop())
  beforeEach(async () => {
    const folder = await makeFolder()
    file = path.join(folder, 'signalbox', 'sign-ins.json')
    environment = { XDG_CONFIG_HOME: folder, SIGNALBOX_URL: gateway.url }
  })

  /** Runs `signalbox login`, and plays the person who approves the code that it prints. */
  async function logIn(key: string): Promise<string> {
    const { runProgram } = await import('../../config/cli/run-program.ts')
    let text = ''
    let approved: Promise<unknown> | undefined
    const stdout = new Writable({
      write(chunk, _, done) {
        text += chunk
        const [, code] = /the code (\S+)/.exec(text) ?? []
        if (code !== undefined) approved ??= approveDevice(gateway, code, { key })
        done()
      },
    })
    await runProgram(['login'], environment, stdout)
    await approved
    return text
  }

  it('keeps a token that serves all commands with --url, until logout', async () => {
    const editor = await newOperator(gateway, 'editor', 'Grace')
    const output = await logIn(editor.key)
    const [, address, , person = ''] = output.match(/^Open (\S+)\n(.*)\n(.*)\n$/s) ?? []
    expect(address).to.match(/\/console\/device\?user_code=[A-Z]{4}-[A-Z]{4}$/)
    expect(JSON.parse(person)).to.include({ url: gateway.url, id: editor.id, name: 'Grace', role: 'editor' })
    expect((await stat(file)).mode & 0o777).to.equal(0o600)
    expect((await stat(path.dirname(file))).mode & 0o777).to.equal(0o700)
    const stored = JSON.parse(await readFile(file, 'utf8'))[gateway.url]
    expect(output).not.to.contain(stored.access_token)

    const exported = await runCommand(['rules', 'export'], environment)
    expect([exported.code, exported.stderr]).to.deep.equal([0, ''])
    const rules = path.join(path.dirname(file), 'rules.yaml')
    await writeFile(rules, 'groups: [{ name: Engineering }]\n')
    const applied = await runCommand(['rules', 'apply', rules, '--url', `${gateway.url}/`], environment)
    expect([applied.code, applied.stderr]).to.deep.equal([0, ''])
    const { body } = await gateway.call('GET', '/admin/audit?kind=group', undefined, AS_ADMIN)
    expect(body.data[0].actor).to.include({ type: 'operator', id: editor.id })
    const who = await runCommand(['whoami'], environment)
    expect(JSON.parse(who.stdout)).to.include({ name: 'Grace', role: 'editor' })

    expect((await runCommand(['logout'], environment)).code).to.equal(0)
    expect(JSON.parse(await readFile(file, 'utf8'))).to.deep.equal({})
    const headers = { authorization: `Bearer ${stored.access_token}` }
    expect((await gateway.call('GET', '/admin/users', undefined, headers)).status).to.equal(401)
    for (const command of [['whoami'], ['rules', 'export']]) {
      const { code, stderr } = await runCommand(command, environment)
      expect(code, stderr).to.be.greaterThan(0)
      expect(stderr).to.contain(`signalbox login --url ${gateway.url}`)
    }
  })

  it('renews a token that ends soon, and forgets a sign-in that has ended', async () => {
    const { key, id } = await newOperator(gateway, 'auditor', 'Ada')
    const { access_token, refresh_token } = await signInDevice(gateway, key, 'signalbox-cli')
    await mkdir(path.dirname(file), { recursive: true })
    const store = (expires_at: number) =>
      writeFile(file, JSON.stringify({ [gateway.url]: { access_token, refresh_token, expires_at } }))
    await store(Date.now() + 60_000)
    expect((await runCommand(['whoami'], environment)).code).to.equal(0)
    const renewed = JSON.parse(await readFile(file, 'utf8'))[gateway.url]
    expect(renewed.refresh_token).not.to.equal(refresh_token)
    expect(renewed.expires_at).to.be.greaterThan(Date.now() + 3_000_000)

    await gateway.call('DELETE', `/admin/operators/${id}`, undefined, AS_ADMIN)
    await store(Date.now() - 1000)
    const { code, stderr } = await runCommand(['rules', 'export'], environment)
    expect(code).to.equal(1)
    expect(stderr).to.contain('has ended').and.not.to.contain(refresh_token)
    expect(JSON.parse(await readFile(file, 'utf8'))).to.deep.equal({})
  })

  it('needs an address, and TLS for other machines', async () => {
    const none = await runCommand(['login'], { XDG_CONFIG_HOME: environment.XDG_CONFIG_HOME ?? '' })
    expect([none.code, none.stderr]).to.satisfy(
      ([code, text]: [number, string]) => code === 2 && text.includes('--url'),
    )
    const plain = await runCommand(['login', '--url', 'http://gateway.example.com'], environment)
    expect(plain.code).to.equal(2)
    expect(plain.stderr).to.contain('https://')
  })
})
