import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, readFile, realpath, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import path from 'node:path'
import { expect } from 'chai'
import { type Sandbox, startSandbox } from '../../providers/sandbox/server.ts'
import { toolRuleBody } from '../support/bodies.ts'
import { makeFolder } from '../support/folders.ts'
import { AS_ADMIN, type RunningGateway, startGateway } from '../support/gateway.ts'
import { newUser, type TestUser } from '../support/new-user.ts'
import { newPolicy } from '../support/policies.ts'
import { providersAt } from '../support/providers.ts'
import { UNLIMITED, withSettings } from '../support/settings.ts'
import { readSource } from '../support/source-files.ts'
import type { CommandLinePrograms } from './clients/languages/javascript.ts'
import { requireCommandLine } from './clients/require-command-line.ts'

const require = createRequire(import.meta.url)
const serverProgram = (name: string) => [
  process.execPath,
  path.join(path.dirname(require.resolve(`@modelcontextprotocol/${name}/package.json`)), 'dist/index.js'),
]

const GUIDE_FILE = 'docs/guides/tool-clients.md'
const GUIDE = readSource(GUIDE_FILE)

interface ProgramOutput {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** Runs a program without input, in a home of its own. Resolves with its output, whatever its exit code. */
function runProgram(
  command: string,
  args: readonly string[],
  home: string,
  env: Readonly<Record<string, string>> = {},
): Promise<ProgramOutput> {
  const { PATH, LANG } = process.env
  const options = { cwd: home, env: { PATH, LANG, HOME: home, ...env }, timeout: 100_000 }
  return new Promise((resolve) => {
    const child = execFile(command, [...args], options, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code ?? 1), stdout, stderr }),
    )
    child.stdin?.end()
  })
}

/** What an agent did in a turn. */
interface Turn {
  /** Of the agent, as it names it itself. */
  readonly sessionId: string
  /** What it printed. */
  readonly output: string
}

/** An agent whose model is scripted: it calls one tool with these arguments, and quotes the result. */
interface Agent {
  /** Names of the tools that the agent got from the gateway. */
  listTools(): Promise<readonly string[]>
  /** In the session of an earlier turn, or a new one. */
  call(tool: string, args: object, sessionId?: string): Promise<Turn>
}

interface Surroundings {
  readonly programs: CommandLinePrograms
  readonly gateway: RunningGateway
  readonly key: string
  readonly home: string
  readonly sandbox: Sandbox
}

function scriptedPrompt(tool: string, args: object): string {
  const base64 = Buffer.from(JSON.stringify(args)).toString('base64url')
  return `Use mcp__signalbox__${tool} [[sandbox:arguments=${base64} rounds=1]]`
}

/** A block of code of the guide, with the address of the gateway. */
function guideBlock(language: string, part: string, gateway: RunningGateway): string {
  const blocks = [...GUIDE.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, 'gm'))]
  const [, text] = blocks.find(([block]) => block.includes(part)) ?? []
  if (text === undefined) throw new Error(`${GUIDE_FILE} has no block with ${part}`)
  return text.replaceAll('https://signalbox.example.com', gateway.url)
}

function claudeEnvironment({ programs, gateway, key, home }: Surroundings) {
  return {
    CLAUDE: programs.claude,
    ...{ CLAUDE_CODE_TMPDIR: home, DISABLE_AUTOUPDATER: '1', CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1' },
    ...{ CLAUDE_CODE_MAX_RETRIES: '1', MCP_CONNECTION_NONBLOCKING: 'false', ENABLE_TOOL_SEARCH: 'false' },
    ...{ ANTHROPIC_BASE_URL: gateway.url, ANTHROPIC_AUTH_TOKEN: key, ANTHROPIC_MODEL: 'claude-sonnet-4-6' },
    SIGNALBOX_KEY: key,
  }
}

/** Runs a block of commands of the guide in which `claude` is the installed one. */
const asGuideSays = (block: string) => ['-ec', `claude() { "$CLAUDE" "$@"; }\n${block}`]

/** Configured by the command of the guide. */
async function configureClaude(surroundings: Surroundings): Promise<Agent> {
  const { programs, gateway, home } = surroundings
  const env = claudeEnvironment(surroundings)
  const run = (args: readonly string[], more: Readonly<Record<string, string>> = {}) =>
    runProgram(programs.claude, args, home, { ...env, ...more })
  const added = await runProgram('bash', asGuideSays(guideBlock('sh', 'claude mcp add', gateway)), home, env)
  expect(added.stdout, added.stderr).to.include('✔ Connected')
  const options = ['--output-format', 'stream-json', '--verbose', '--allowedTools', 'mcp__signalbox']
  return {
    async listTools() {
      const { stdout } = await run(['-p', 'Say hello', ...options])
      const begin = stdout.split('\n').find((line) => line.includes('"subtype":"init"')) ?? '{}'
      return JSON.parse(begin).tools
    },
    async call(tool, args, sessionId) {
      const id = sessionId ?? randomUUID()
      const session = sessionId === undefined ? ['--session-id', id] : ['--resume', id]
      const prompt = scriptedPrompt(tool, args)
      const { stdout, stderr } = await run(['-p', prompt, ...session, ...options], { AGENT_SESSION: id })
      return { sessionId: id, output: stdout + stderr }
    },
  }
}

/** Configured by the lines of the guide. */
async function configureCodex({ programs, gateway, key, home, sandbox }: Surroundings): Promise<Agent> {
  const folder = path.join(home, 'codex')
  await mkdir(folder)
  await writeFile(
    path.join(folder, 'config.toml'),
    `model = "gpt-5-mini"
model_provider = "signalbox"
approval_policy = "never"
[model_providers.signalbox]
name = "Signalbox"
base_url = "${gateway.url}/v1"
env_key = "SIGNALBOX_KEY"
wire_api = "responses"
[analytics]
enabled = false
${guideBlock('toml', 'mcp_servers', gateway)}`,
  )
  const env = { CODEX_HOME: folder, SIGNALBOX_KEY: key }
  const run = async (prompt: string, sessionId?: string): Promise<Turn> => {
    const turn = sessionId === undefined ? [] : ['resume', sessionId]
    const args = [programs.codex, 'exec', '--json', '--skip-git-repo-check', ...turn, prompt]
    const { stdout, stderr } = await runProgram(process.execPath, args, home, env)
    const [, id] = /"thread_id":"([^"]+)"/.exec(stdout) ?? []
    expect(id, stdout + stderr).to.be.a('string')
    return { sessionId: String(id), output: stdout + stderr }
  }
  return {
    async listTools() {
      const sent = sandbox.next(({ path: at }) => at.endsWith('/responses'))
      await run('Say hello')
      return [...JSON.stringify((await sent).body).matchAll(/mcp__signalbox__\w+/g)].map(([name]) => name)
    },
    call: (tool, args, sessionId) => run(scriptedPrompt(tool, args), sessionId),
  }
}

describe('clients of MCP in front of the gateway', function () {
  this.timeout(120_000)
  let programs: CommandLinePrograms
  let sandbox: Sandbox
  let gateway: RunningGateway
  let files: string
  let user: TestUser
  let home: string

  before(async function () {
    programs = await requireCommandLine(this)
    files = await realpath(await makeFolder())
    await writeFile(path.join(files, 'a.txt'), 'the content')
    sandbox = await startSandbox({ record: 10 })
    gateway = await startGuarded('pass')
  })
  beforeEach(async () => {
    user = await newUser(gateway)
    home = await makeFolder()
  })
  after(async () => {
    await gateway?.stop()
    await sandbox?.close()
  })

  async function startGuarded(approvals: 'pass' | 'ask'): Promise<RunningGateway> {
    const servers = {
      everything: { command: [...serverProgram('server-everything'), 'stdio'], new_tools: 'approved' },
      files: { command: [...serverProgram('server-filesystem'), files], new_tools: 'approved' },
    }
    const started = await startGateway({
      ...providersAt(sandbox),
      ...(await withSettings(
        `${UNLIMITED}tool_rules: { approvals: ${approvals} }\nmcp: { servers: ${JSON.stringify(servers)} }\n`,
      )),
    })
    const match = (tool: string) => ({ server: 'files', tool })
    await newPolicy(started, {
      tool: [
        toolRuleBody({ name: 'no moves', match: match('move_file'), action: 'deny' }),
        toolRuleBody({ name: 'ask to write', match: match('write_file'), action: 'require_approval' }),
      ],
    })
    return started
  }

  const read = () => ({ path: path.join(files, 'a.txt') })
  const move = () => ({ source: path.join(files, 'a.txt'), destination: path.join(files, 'z.txt') })
  const write = () => ({ path: path.join(files, `${path.basename(home)}.txt`), content: 'written' })
  /** What the gateway has recorded for the user, oldest first. */
  const recorded = async (): Promise<readonly Record<string, unknown>[]> =>
    (await user.call('GET', '/v1/tool-calls?order=oldest')).body.data
  const calls = async () =>
    (await recorded()).map(({ server, tool, verdict }) => `${server}/${tool} ${verdict}`)

  /** Grants the approval that an output of a client names. */
  async function grant(output: string) {
    expect(output).to.match(/An operator must approve the call of write_file \(apr_\w+\)/)
    const [id] = /apr_\w+/.exec(output) ?? []
    const { status } = await gateway.call('POST', `/admin/approvals/${id}/grant`, undefined, AS_ADMIN)
    expect(status).to.equal(200)
  }

  for (const [name, configure] of [
    ['Claude Code', configureClaude],
    ['Codex', configureCodex],
  ] as const)
    it(`${name}: its model calls the tools that rules allow, in one session`, async () => {
      const agent = await configure({ programs, gateway, key: user.key, home, sandbox })
      expect(await agent.listTools())
        .to.include.members(['mcp__signalbox__files__read_text_file', 'mcp__signalbox__everything__echo'])
        .and.not.include('mcp__signalbox__files__move_file')
      const first = await agent.call('files__read_text_file', read())
      expect(first.output).to.include('the content')
      const { sessionId } = first
      await agent.call('files__move_file', move(), sessionId)
      expect(existsSync(read().path)).to.equal(true)
      const asked = await agent.call('files__write_file', write(), sessionId)
      expect(existsSync(write().path)).to.equal(false)
      await grant(asked.output)
      await agent.call('files__write_file', write(), sessionId)
      expect(await readFile(write().path, 'utf8')).to.equal('written')
      expect(await calls()).to.deep.equal([
        'files/read_text_file allowed',
        'files/write_file pending_approval',
        'files/write_file approved',
      ])
      const { body } = await user.call('GET', `/v1/sessions/${sessionId}`)
      expect(body.data.tool_calls).to.equal(3)
      // At least two for each call that was made.
      expect(body.data.requests).to.be.at.least(6)
    })

  for (const [era, endpoint] of [
    ['legacy', '/mcp/files'],
    ['modern', '/mcp'],
  ] as const)
    it(`the MCP Inspector, ${era}, at ${endpoint}`, async () => {
      const inspect = async (at: string, method: string, ...args: readonly string[]) => {
        const target = [`${gateway.url}${at}`, '--transport', 'http', '--protocol-era', era]
        const headers = ['--header', `Authorization: Bearer ${user.key}`, '--header', 'x-session-id: run-7']
        const options = [...target, ...headers, '--format', 'json', '--method', method, ...args]
        return runProgram(programs.node, [programs.inspector, '--cli', ...options], home)
      }
      const resultOf = async (...args: Parameters<typeof inspect>) => {
        const { code, stdout, stderr } = await inspect(...args)
        expect(code, stderr).to.equal(0)
        return JSON.parse(stdout).result
      }
      const prefixOf = (server: string) => (endpoint === '/mcp' ? `${server}__` : '')
      const callFiles = (tool: string, args: object) => {
        const name = `${prefixOf('files')}${tool}`
        const given = ['--tool-args-json', JSON.stringify(args)]
        return inspect(endpoint, 'tools/call', '--tool-name', name, ...given)
      }

      const { tools } = await resultOf(endpoint, 'tools/list')
      expect(tools.map(({ name }: { name: string }) => name))
        .to.include(`${prefixOf('files')}read_text_file`)
        .and.not.include(`${prefixOf('files')}move_file`)
      expect((await callFiles('read_text_file', read())).stdout).to.include('the content')
      expect((await callFiles('move_file', move())).code).to.not.equal(0)
      const asked = await callFiles('write_file', write())
      expect(asked.code).to.not.equal(0)
      await grant(asked.stderr)
      expect((await callFiles('write_file', write())).code).to.equal(0)
      expect(await readFile(write().path, 'utf8')).to.equal('written')

      const other = endpoint === '/mcp' ? endpoint : '/mcp/everything'
      const { resources } = await resultOf(other, 'resources/list')
      const { contents } = await resultOf(other, 'resources/read', '--uri', resources[0].uri)
      expect(contents[0].text).to.be.a('string')
      const { prompts } = await resultOf(other, 'prompts/list')
      const prompt = `${prefixOf('everything')}args-prompt`
      expect(prompts.map(({ name }: { name: string }) => name)).to.include(prompt)
      const given = ['--prompt-name', prompt, '--prompt-args', 'city=Oslo']
      const { messages } = await resultOf(other, 'prompts/get', ...given)
      expect(messages[0].content.text).to.include('Oslo')

      expect(await calls()).to.deep.equal([
        'files/read_text_file allowed',
        'files/write_file pending_approval',
        'files/write_file approved',
        `everything/resource:${resources[0].uri} allowed`,
        'everything/prompt:args-prompt allowed',
      ])
      for (const call of await recorded()) expect(call.session_id).to.equal('run-7')
    })

  it('are called with the lines of the guide: the MCP Inspector, Claude Code and Codex', async () => {
    const env = {
      ...{ SIGNALBOX_KEY: user.key, NODE: programs.node, INSPECTOR: programs.inspector },
      ...{ CODEX_HOME: home, CODEX: programs.codex },
    }
    const inspector = `npx() { shift; "$NODE" "$INSPECTOR" "$@"; }\n${guideBlock('sh', 'npx', gateway)}`
    const inspected = await runProgram('bash', ['-ec', inspector], home, env)
    expect(inspected.stdout, inspected.stderr).to.include('read_text_file').and.include(files)
    const [added] = /codex mcp add[^`]*/.exec(GUIDE) ?? []
    const codex = `codex() { node "$CODEX" "$@"; }\n${added}\ncodex mcp list`
    const listed = await runProgram('bash', ['-ec', codex], home, env)
    expect(listed.stdout, listed.stderr).to.match(/signalbox +https:\S+ +SIGNALBOX_KEY +enabled/)
    const surroundings = { programs, gateway, key: user.key, home, sandbox }
    const turn = guideBlock('sh', 'claude -p', gateway).trim()
    await writeFile(path.join(home, 'own.json'), guideBlock('json', 'mcpServers', gateway))
    const options = '--strict-mcp-config --mcp-config own.json --output-format stream-json --verbose'
    const claude = asGuideSays(`${turn} ${options}`)
    const run = await runProgram('bash', claude, home, claudeEnvironment(surroundings))
    expect(run.stdout, run.stderr)
      .to.include('mcp__signalbox__files__read_text_file')
      .and.include('Read notes.txt')
  })

  it('show that the reply of a model needs an approval: Claude Code and Codex', async () => {
    const asking = await startGuarded('ask')
    try {
      const { key } = await newUser(asking)
      const surroundings = { programs, gateway: asking, key, home, sandbox }
      for (const agent of [await configureClaude(surroundings), await configureCodex(surroundings)]) {
        const { output } = await agent.call('files__write_file', write())
        expect(output).to.match(/approve the call of .{1,4}mcp__signalbox__files__write_file.{1,4}\(apr_/)
        expect(existsSync(write().path)).to.equal(false)
      }
    } finally {
      await asking.stop()
    }
  })
})
