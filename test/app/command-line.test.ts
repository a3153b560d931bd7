import { readdir, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { expect } from 'chai'
import { COMMANDS } from '../../config/cli/commands.ts'
import { DEFAULT_PLUGIN_NAMES } from '../../config/settings/built-in-names.ts'
import { firewallRuleBody } from '../support/bodies.ts'
import { runCommand } from '../support/command.ts'
import { createLogFolder } from '../support/data-folder.ts'
import { makeFolder } from '../support/folders.ts'
import { startGatewayOnFiles } from '../support/gateway.ts'
import { ROOT } from '../support/root.ts'
import { writeSettings } from '../support/settings-file.ts'

describe('the help of the program', () => {
  it('lists all commands for --help, and exits with 0', async () => {
    const { code, stdout, stderr } = await runCommand(['--help'])
    expect({ code, stderr }).to.deep.equal({ code: 0, stderr: '' })
    expect(stdout).to.match(/^Usage: signalbox <command> \[options\]\n/)
    for (const { name, summary } of COMMANDS) {
      expect(stdout).to.contain(`  ${name} `)
      expect(stdout).to.contain(`  ${summary}\n`)
    }
  })

  it('shows the usage, a description and the options of a command', async () => {
    const { code, stdout, stderr } = await runCommand(['log', 'backup', '--help'])
    expect({ code, stderr }).to.deep.equal({ code: 0, stderr: '' })
    expect(stdout).to.equal(
      [
        'Usage: signalbox log backup FOLDER [--history-only]',
        '',
        'Copy the event log, stored responses and the request ledger into an empty folder.',
        'A gateway may run meanwhile. Creates the folder if it does not exist.',
        '',
        'Options:',
        '  --history-only  Leave out stored responses and the request ledger.',
        '  --help          Show this help.',
        '',
      ].join('\n'),
    )
  })

  it('shows the version of the package', async () => {
    const { version } = JSON.parse(await readFile(new URL('package.json', ROOT), 'utf8'))
    expect(await runCommand(['--version'])).to.deep.equal({ code: 0, stdout: `${version}\n`, stderr: '' })
  })
})

describe('an invalid command line', () => {
  const usage = 'Usage: signalbox users add --name NAME --plan PLAN [--reason REASON]'
  const more = (name: string) => `"signalbox ${name} --help" says more.`
  const cases: readonly (readonly [string, readonly string[]])[] = [
    [
      'users frobnicate',
      [
        'Unknown command "users frobnicate". Commands: users add, users list, users plan.',
        '"signalbox users --help" lists the commands.',
      ],
    ],
    [
      'rules aply rules.yaml',
      [
        'Unknown command "rules aply". Did you mean "rules apply"?',
        '"signalbox rules --help" lists the commands.',
      ],
    ],
    ['strat', ['Unknown command "strat". Did you mean "start"?', '"signalbox --help" lists the commands.']],
    ['--colour', ['Unknown option "--colour".', '"signalbox --help" lists the commands.']],
    [
      'users add --name Ada --paln paid',
      ['Unknown option "--paln" of "signalbox users add". Did you mean "--plan"?', usage, more('users add')],
    ],
    [
      'users add --name Ada --colour red',
      ['Unknown option "--colour" of "signalbox users add".', usage, more('users add')],
    ],
    ['users add --name --plan paid', ['Option --name requires a value.', usage, more('users add')]],
    ['users add --name Ada', ['Option --plan is required.', usage, more('users add')]],
    [
      'users plan 1 gold',
      [
        'PLAN must be free or paid.',
        'Usage: signalbox users plan USER PLAN [--reason REASON]',
        more('users plan'),
      ],
    ],
    ['keys add', ['USER is missing.', 'Usage: signalbox keys add USER [--reason REASON]', more('keys add')]],
  ]
  for (const [line, lines] of cases) {
    it(`exits with 2 and says what is possible: signalbox ${line}`, async () => {
      const { code, stdout, stderr } = await runCommand(line.split(' '))
      expect({ code, stdout }).to.deep.equal({ code: 2, stdout: '' })
      expect(stderr.trimEnd().split('\n')).to.deep.equal(lines)
    })
  }

  it('lists all commands if there is none', async () => {
    const { code, stderr } = await runCommand([])
    expect(code).to.equal(2)
    expect(stderr).to.match(/^A command is required\.\n\nUsage: signalbox <command>/)
  })
})

describe('"config check"', () => {
  it('checks names, contract versions, order and options of plugins, and lists all issues', async () => {
    const folder = await makeFolder()
    const [newer, late] = [path.join(folder, 'newer.mjs'), path.join(folder, 'late.mjs')]
    await writeFile(newer, `export default { name: 'newer', contract: 99, setup: () => ({}) }`)
    await writeFile(
      late,
      `export default { name: 'late', contract: 3, after: ['dispatch'], setup() { throw new Error('it was set up') } }`,
    )
    const firewall = { use: 'firewall', options: { hold_back_chars: 0 } }
    const plugins = ['plan', 'auth', firewall, newer, late, 'routing', 'dispatch', './nowhere.mjs', 'auth']
    const CONFIG = await writeSettings(`plugins: ${JSON.stringify(plugins)}`)

    const { code, stdout, stderr } = await runCommand(['config', 'check'], { CONFIG })
    expect({ code, stdout }).to.deep.equal({ code: 1, stdout: '' })
    for (const issue of [
      'plugin "newer" from',
      'plugin "./nowhere.mjs" cannot be imported',
      'plugin "plan" must be listed after "auth"',
      `plugin "late" from "${late}" must be listed after "dispatch"`,
      'plugin "auth" is listed twice',
      'the options of plugin "firewall" are not valid: hold_back_chars',
    ])
      expect(stderr).to.contain(`\n  - ${issue}`)
    expect(stderr).to.match(/^The settings have 6 issues:\n/)
  })

  it('opens neither the event log nor a port, and sets no plugin up', async () => {
    const folder = await makeFolder()
    const plugin = path.join(folder, 'plugin.mjs')
    await writeFile(
      plugin,
      `export default { name: 'any', contract: 3, setup() { throw new Error('it was set up') } }`,
    )
    const CONFIG = await writeSettings(`plugins: [auth, ${plugin}]\n`)
    const DATA_DIR = await makeFolder()

    expect(await runCommand(['config', 'check'], { CONFIG, DATA_DIR, PORT: '1' })).to.deep.equal({
      code: 0,
      stdout: `Plugins: auth -> ${plugin}\nThe settings and plugins are valid.\n`,
      stderr: '',
    })
    expect(await readdir(DATA_DIR)).to.deep.equal([])
  })

  it('checks the formats of providers, those of packages included', async () => {
    const check = async (plugins: string) => {
      const providers = "providers: { post: { format: telegraph, base_url: 'http://127.0.0.1:9' } }\n"
      return runCommand(['config', 'check'], { CONFIG: await writeSettings(`${providers}${plugins}`) })
    }
    const listPlugin = async (parts: string) => {
      const plugin = path.join(await makeFolder(), 'plugin.mjs')
      await writeFile(plugin, `export default { name: 'any', contract: 3, setup: () => (${parts}) }`)
      return `plugins: { add: [${plugin}] }\n`
    }
    for (const plugins of ['', await listPlugin('{}')]) {
      const { code, stdout, stderr } = await check(plugins)
      expect({ code, stdout }).to.deep.equal({ code: 1, stdout: '' })
      expect(stderr).to.contain(
        'providers.post.format is "telegraph", which is not a known format. ' +
          'Use one of openai, anthropic, gemini, mistral, deepseek, vertex, bedrock, ' +
          'or list the plugin that adds the format.',
      )
    }
    const { code, stdout } = await check(
      await listPlugin("{ providers: [{ format: 'telegraph', fields: {} }] }"),
    )
    expect(code).to.equal(0)
    expect(stdout).to.match(/^Plugins: .*\nThe settings and plugins are valid\.\n$/)
  })

  it('prints the order that changes to the shipped list result in', async () => {
    const CONFIG = await writeSettings(
      'plugins: { add: [{ use: ledger, after: auth }], remove: [ledger, audit, overview] }',
    )
    const { code, stdout } = await runCommand(['config', 'check'], { CONFIG })
    expect(code).to.equal(0)
    const rest = DEFAULT_PLUGIN_NAMES.filter((name) => !['ledger', 'audit', 'overview'].includes(name))
    expect(stdout).to.match(/^Plugins: auth -> ledger -> rate-limit -> /)
    expect(/^Plugins: (.*)$/m.exec(stdout)?.[1]?.split(' -> ')).to.have.members(['ledger', ...rest])
  })
})

describe('commands for users and keys', () => {
  it('lists users without their keys', async () => {
    const dataDir = await createLogFolder()
    const added = await runCommand(['users', 'add', '--name', 'Ada', '--plan', 'free'], {
      DATA_DIR: dataDir,
    })
    const { stdout } = await runCommand(['users', 'list'], { DATA_DIR: dataDir })
    const listed = JSON.parse(stdout)
    expect(listed).to.include({ name: 'Ada', plan: 'free' })
    expect(listed.keys).to.deep.equal([JSON.parse(added.stdout).key_id])
    expect(stdout).not.to.contain('tr_')
  })

  it('list the rules that stop applying with a change of the plan', async () => {
    const gateway = await startGatewayOnFiles()
    const rule = firewallRuleBody({ name: 'No secrets' })
    const { status } = await gateway.call('POST', '/v1/firewall-rules', rule)
    await gateway.stop()
    expect(status).to.equal(201)
    const change = async (plan: string) =>
      JSON.parse((await runCommand(['users', 'plan', '1', plan], { DATA_DIR: gateway.dataDir })).stdout)
    const { warnings, ...user } = await change('free')
    expect(user).to.deep.equal({ id: 1, name: 'demo', plan: 'free' })
    expect(warnings).to.have.length(1)
    expect(warnings[0].message).to.match(/^Firewall rule \d+ "No secrets" does not apply any more/)
    expect(await change('paid')).not.to.have.property('warnings')
  })

  it('reports a missing user in one line', async () => {
    const dataDir = await createLogFolder()
    const { code, stderr } = await runCommand(['keys', 'add', '77'], { DATA_DIR: dataDir })
    expect(code).to.equal(1)
    expect(stderr).to.equal('User 77 was not found.\n')
  })
})
