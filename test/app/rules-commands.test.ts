import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { expect } from 'chai'
import { runCommand } from '../support/command.ts'
import { createLogFolder } from '../support/data-folder.ts'
import { makeFolder } from '../support/folders.ts'
import { ADMIN_KEY, type RunningGateway, startGateway } from '../support/gateway.ts'
import { newUser } from '../support/new-user.ts'
import { newOperator } from '../support/operators.ts'
import { asAdmin } from '../support/policies.ts'

const RULES = `# A comment
policies:
  - name: No secrets
    is_enabled: true
    priority: 10
    applies_to: { everyone: true }
    firewall_rules:
      - name: Secrets
        is_enabled: true
        priority: 0
        scope: prompt
        type: substring
        pattern: secret
        action: block
`

describe('signalbox rules', () => {
  let folder: string
  before(async () => {
    folder = await makeFolder()
  })
  const write = async (name: string, text: string) => {
    const file = path.join(folder, name)
    await writeFile(file, text)
    return file
  }

  it('plans, applies and exports rules of the data folder that the settings name', async () => {
    const environment = { DATA_DIR: await createLogFolder(), LOG_LEVEL: 'fatal' }
    const run = (...args: readonly string[]) => runCommand(['rules', ...args], environment)
    const file = await write('rules.yaml', RULES)

    const planned = await run('plan', file)
    expect([planned.code, planned.stderr]).to.deep.equal([2, ''])
    expect(planned.stdout).to.contain('1 to add, 0 to change, 0 to remove.\n')
    expect(planned.stdout.split('\n').slice(0, 8)).to.deep.equal([
      '+ policy "No secrets"',
      '    name: "No secrets"',
      '    is_enabled: true',
      '    priority: 10',
      '    applies_to: {"everyone":true}',
      '    visibility: "name"',
      '    + firewall rule "Secrets"',
      '        is_enabled: true',
    ])
    const applied = await run('apply', file, '--reason', 'first')
    expect([applied.code, applied.stderr]).to.deep.equal([0, ''])
    expect(applied.stdout).to.match(/Applied policy "No secrets" \(policy-\d+\)\.\n$/)
    const nothing = await run('plan', file)
    expect([nothing.code, nothing.stdout.split('\n')[0]]).to.deep.equal([0, 'No changes.'])

    const exported = await run('export', '--only', 'policies')
    expect(exported.stdout).to.match(/^# yaml-language-server: \$schema=.*\npolicies:\n {2}- id: \d+\n/)
    const edited = exported.stdout.replace('action: block', 'action: warn')
    const changed = await run('plan', await write('edited.yaml', edited))
    expect(changed.code).to.equal(2)
    expect(changed.stdout).to.match(
      /^~ policy "No secrets" \(\d+\)\n {4}~ firewall rule "Secrets" \(\d+\)\n {8}action: "block" -> "warn"\n/,
    )
  })

  describe('of a gateway with an address', () => {
    let gateway: RunningGateway
    let environment: { SIGNALBOX_URL: string; SIGNALBOX_KEY: string }
    before(async () => {
      gateway = await startGateway()
      const editor = await newOperator(gateway, 'editor', 'CI')
      environment = { SIGNALBOX_URL: gateway.url, SIGNALBOX_KEY: editor.key }
    })
    after(() => gateway.stop())
    const run = (...args: readonly string[]) => runCommand(['rules', ...args], environment)

    it('are applied as they were planned, or not at all', async () => {
      const file = await write('remote.yaml', RULES)
      const planned = await run('plan', file, '--json')
      expect(planned.code).to.equal(2)
      const plan = await write('plan.json', planned.stdout)
      const { position } = JSON.parse(planned.stdout)
      await newUser(gateway)
      const moved = await run('apply', file, '--position', String(position))
      expect(moved.code).to.equal(1)
      expect(moved.stderr).to.contain('Nothing was changed.')
      const applied = await run('apply', file, '--plan', plan, '--reason', 'Prüfung')
      expect(applied.stderr).to.equal('')
      expect((await asAdmin(gateway, 'GET', '/admin/policies')).body.data[0].name).to.equal('No secrets')
      const again = await run('apply', file, '--plan', plan)
      expect(again.code).to.equal(1)
      expect(again.stderr).to.contain('would no longer make the changes of the plan')
    })

    it('refuse an invalid file with the line of every issue, wherever it is found', async () => {
      const broken = RULES.replace('action: block', 'action: ban').replace(
        'everyone: true',
        'groups: [Nobody]',
      )
      const file = await write('broken.yaml', broken)
      const { code, stderr } = await run('plan', file)
      expect(code).to.equal(1)
      expect(stderr).to.contain(`${file}:6: policies[0].applies_to.groups[0]: There is no group`)
      expect(stderr).to.contain(
        `${file}:14: policies[0].firewall_rules[0].action: The action field must be one of`,
      )
      const misspelt = await write('misspelt.yaml', RULES.replace('is_enabled', 'enabled'))
      const refused = await run('plan', misspelt)
      expect(refused.code).to.equal(1)
      expect(refused.stderr).to.match(/misspelt\.yaml:\d: policies\[0\]/)
      expect(refused.stderr.split('\n')[0]).to.match(/misspelt\.yaml has (an issue|\d issues):$/)
      const yaml = await run('plan', await write('invalid.yaml', 'policies: ['))
      expect([yaml.code, yaml.stderr]).to.satisfy(([exit, text]: [number, string]) => {
        return exit === 1 && text.includes('is not valid YAML at line')
      })
    })

    it('read the key from a file, and never show it', async () => {
      const key = await write('key', `${ADMIN_KEY}\n`)
      const options = ['--url', gateway.url, '--key-file', key]
      expect((await runCommand(['rules', 'export', ...options])).stdout).to.contain('policies:')
      const none = await runCommand(['rules', 'export', '--url', gateway.url])
      expect(none.code).to.equal(2)
      expect(none.stderr).to.contain('give the key of an operator: --key-file FILE, or SIGNALBOX_KEY')
      const wrong = { ...environment, SIGNALBOX_KEY: 'op_wrong' }
      const refused = await runCommand(['rules', 'export'], wrong)
      expect(refused.code).to.equal(1)
      expect(refused.stderr).not.to.contain('op_wrong')
      const gone = await runCommand(['rules', 'export', ...options, '--url', 'http://127.0.0.1:1'])
      expect([gone.code, gone.stderr]).to.satisfy(([exit, text]: [number, string]) => {
        return exit === 1 && text.includes('http://127.0.0.1:1 cannot be reached')
      })
      expect(await readFile(key, 'utf8')).to.contain(ADMIN_KEY)
    })
  })
})
