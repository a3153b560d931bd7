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
  const cases: readonly (readonly [string, string, string])[] = [
    ['users frobnicate', 'Unknown command "users frobnicate".', 'users'],
    ['rules aply rules.yaml', 'Unknown command "rules aply". Did you mean "rules apply"?', 'rules'],
    ['strat', 'Unknown command "strat". Did you mean "start"?', ''],
    ['user list', 'Unknown command "user list". Did you mean "users list"?', ''],
    ['budget', 'Unknown command "budget". Did you mean "budgets"?', ''],
    ['--colour', 'Unknown option "--colour".', ''],
    [
      'users add --name Ada --paln paid',
      'Unknown option "--paln" of "signalbox users add". Did you mean "--plan"?',
      'users add',
    ],
    ['users add --name Ada --colour red', 'Unknown option "--colour" of "signalbox users add".', 'users add'],
    ['users add --name --plan paid', 'Option --name requires a value.', 'users add'],
    ['users list --json=yes', 'Option --json does not take a value.', 'users list'],
    ['users add --name Ada', 'Option --plan is required.', 'users add'],
    ['users plan 1 gold', 'PLAN must be free or paid.', 'users plan'],
    ['keys add', 'USER is missing: signalbox keys add USER.', 'keys add'],
    ['keys list Ada', 'USER must be the id of a user, an integer.', 'keys list'],
    ['operators add --name Ada --role boss', 'ROLE must be one of admin, editor, auditor.', 'operators add'],
    ['budgets set 7 --limit 20', 'OWNER must be user:ID, group:ID, key:ID, shadow or all.', 'budgets set'],
    ['budgets set all --limit much', 'USD must be a number, such as 0.8 or 200.', 'budgets set'],
  ]
  for (const [line, problem, help] of cases) {
    it(`exits with 2, and says in a line what is wrong and in another where to read on: ${line}`, async () => {
      const { code, stdout, stderr } = await runCommand(line.split(' '))
      expect({ code, stdout }).to.deep.equal({ code: 2, stdout: '' })
      const hint = `See "signalbox ${help === '' ? '' : `${help} `}--help".`
      expect(stderr).to.equal(`${problem}\n${hint}\n`)
    })
  }

  it('lists all commands if there is none', async () => {
    const { code, stderr } = await runCommand([])
    expect(code).to.equal(2)
    expect(stderr).to.match(/^A command is required\.\n\nUsage: signalbox <command>/)
  })

  it('lists the commands of a group if there is only its name', async () => {
    const { code, stdout, stderr } = await runCommand(['keys'])
    expect({ code, stdout }).to.deep.equal({ code: 2, stdout: '' })
    expect(stderr).to.match(
      /^A command of "keys" is required\.\n\nUsage: signalbox keys <command> \[options\]\n/,
    )
    for (const line of [
      ['keys', '--help'],
      ['help', 'keys'],
    ]) {
      const help = await runCommand(line)
      expect([help.code, help.stderr]).to.deep.equal([0, ''])
      expect(stderr).to.contain(help.stdout)
      expect(help.stdout.match(/^ {2}\S+/gm)).to.deep.equal(['  keys', '  keys', '  keys', '  keys'])
    }
  })
})

describe('commands in a folder without an event log', () => {
  const isListed = ({ name }: { readonly name: string }) => name
  const creating = ['start', 'demo', 'log import']
  /** What each command needs on its line. */
  const OPERANDS: Readonly<Record<string, readonly string[]>> = {
    'users add': ['--name', 'Ada', '--plan', 'free'],
    'users plan': ['1', 'free'],
    'keys add': ['1'],
    'keys rotate': ['key_1'],
    'keys revoke': ['key_1'],
    'operators add': ['--name', 'Ada', '--role', 'auditor'],
    'operators rotate': ['operator_1'],
    'operators remove': ['operator_1'],
    'budgets set': ['all', '--limit', '1'],
    'budgets remove': ['all'],
    'rules plan': ['RULES'],
    'rules apply': ['RULES'],
    'rules test': ['CASES'],
    'what-if': ['RULES'],
    'router activate': ['1'],
    'log backup': ['FOLDER'],
  }
  /** Commands that work without an event log, or on a gateway that runs. */
  const OTHER = /^(config|plugin|login|logout|whoami|providers|models|presets|tools|proof|status|doctor)\b/

  for (const name of COMMANDS.map(isListed).filter((name) => !creating.includes(name) && !OTHER.test(name)))
    it(`create none, and say where they looked: ${name}`, async () => {
      const [DATA_DIR, folder] = [await makeFolder(), await makeFolder()]
      const files: Readonly<Record<string, string>> = {
        RULES: 'groups: []\n',
        CASES: JSON.stringify({ cases: [{ name: 'Any', prompt: 'Hi', expect: { outcome: 'allowed' } }] }),
      }
      const operands = (OPERANDS[name] ?? []).map((word) =>
        /^[A-Z]+$/.test(word) ? path.join(folder, word) : word,
      )
      for (const [file, text] of Object.entries(files)) await writeFile(path.join(folder, file), text)
      const { code, stdout, stderr } = await runCommand([...name.split(' '), ...operands], { DATA_DIR })
      expect({ code, stdout }, stderr).to.deep.equal({ code: 1, stdout: '' })
      expect(stderr)
        .to.match(/^There is no gateway in .+ Nothing was changed\.\n$/)
        .and.contain(DATA_DIR)
      expect(await readdir(DATA_DIR)).to.deep.equal([])
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
    // Alerts are left out while there are none.
    const absent = ['ledger', 'audit', 'overview', 'alerts']
    const rest = DEFAULT_PLUGIN_NAMES.filter((name) => !absent.includes(name))
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
    const { stdout } = await runCommand(['users', 'list', '--json'], { DATA_DIR: dataDir })
    const [listed] = JSON.parse(stdout)
    expect(listed).to.include({ name: 'Ada', plan: 'free' })
    expect(listed.keys[0].id).to.equal(JSON.parse(added.stdout).key_id)
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
