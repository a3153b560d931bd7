import { execFile } from 'node:child_process'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { makeFolder } from './folders.ts'
import { ADMIN_KEY } from './gateway.ts'
import { type GatewayProcess, startGatewayProcess } from './gateway-process.ts'
import { PROGRAM, ROOT } from './root.ts'
import { readSource } from './source-files.ts'

/** A block of commands of a page, as a reader pastes it. */
export interface ShellBlock {
  readonly line: number
  readonly script: string
  /** Why the block cannot run in a test: the comment `<!-- not run: … -->` before it. */
  readonly notRun: string | undefined
}

/** A page of the documentation, with its blocks of commands. */
export interface Guide {
  /** The page that a reader has followed before: the comment `<!-- after: … -->`. */
  readonly after: string | undefined
  readonly blocks: readonly ShellBlock[]
}

const BLOCK = /(?:<!-- not run: ([^>]+?) -->\s+)?^( *)```(?:sh|bash|shell)\n(.*?)^ *```$/gms

/** Reads a page by its path from the root of the repository. */
export function readGuide(page: string): Guide {
  const text = readSource(page)
  const [, after] = /^<!-- after: (\S+) -->$/m.exec(text) ?? []
  const blocks = [...text.matchAll(BLOCK)].map((match) => {
    const [whole, notRun, indent = '', script = ''] = match
    const start = match.index + whole.indexOf('```')
    return {
      line: text.slice(0, start).split('\n').length,
      script: script.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
      notRun,
    }
  })
  return { after, blocks }
}

/** The address in the documentation. */
const DOCUMENTED = 'http://127.0.0.1:8080'

/** A folder outside of the gateway's, which guides write backups to. */
const BACKUP = '/backup/'

/**
 * Runs blocks in the order of the page, in a folder of their own, with a gateway of their own in it.
 * Variables live on from block to block, as in a terminal. What would start a gateway in the foreground
 * starts one with the environment of that moment, and stops the one before it.
 */
export class GuideRunner {
  readonly #folder: string
  readonly #tools: string
  #gateway: GatewayProcess | undefined

  private constructor(folder: string, tools: string) {
    this.#folder = folder
    this.#tools = tools
  }

  static async start(): Promise<GuideRunner> {
    const tools = await makeFolder()
    const runner = new GuideRunner(await makeFolder(), tools)
    for (const [name, script] of Object.entries(writeTools(tools)))
      await writeFile(path.join(tools, name), `#!/bin/sh\n${script}\n`, { mode: 0o700 })
    const gateway = await runner.#startGateway({})
    const keys = { ADMIN_KEY, SIGNALBOX_KEY: gateway.demoKey }
    const lines = Object.entries(keys).map(([name, value]) => `export ${name}='${value}'`)
    await writeFile(runner.#state, lines.join('\n'))
    return runner
  }

  /** Rejects with what the shell wrote if a command fails, such as a request whose answer is an error. */
  async run(script: string): Promise<string> {
    const here = script
      .replaceAll(DOCUMENTED, this.#gateway?.url ?? '')
      .replaceAll(BACKUP, `${this.#folder}${BACKUP}`)
    const whole = `. '${this.#state}'; set -aeuo pipefail; ${here}\nset +a; export -p > '${this.#state}'`
    const { stdout } = await this.#execute(whole)
    const started = await readFile(this.#request, 'utf8').catch(() => undefined)
    if (started !== undefined) await this.#restart(started)
    return stdout
  }

  async stop(): Promise<void> {
    await this.#gateway?.stop()
  }

  get #state(): string {
    return path.join(this.#tools, 'variables')
  }

  /** Written by a command that starts a gateway: its environment. */
  get #request(): string {
    return path.join(this.#tools, 'start')
  }

  async #execute(script: string): Promise<{ stdout: string }> {
    const { PATH, HOME } = process.env
    const env = { PATH: `${this.#tools}:${PATH}`, HOME, ADMIN_KEY }
    try {
      return await promisify(execFile)('bash', ['-c', script], { env, cwd: this.#folder, timeout: 60_000 })
    } catch (error) {
      const { stdout, stderr } = error as { stdout: string; stderr: string }
      throw new Error(`${script}\nfailed: ${stderr}\n${stdout}`)
    }
  }

  async #restart(environment: string): Promise<void> {
    await rm(this.#request)
    const { url: former } = this.#gateway as GatewayProcess
    await this.stop()
    const entries = environment.split('\0').filter(Boolean)
    const variables = Object.fromEntries(entries.map((entry) => entry.split(/=(.*)/s).slice(0, 2)))
    const { url } = await this.#startGateway(variables)
    const state = await readFile(this.#state, 'utf8')
    await writeFile(this.#state, state.replaceAll(former, url))
  }

  async #startGateway(variables: Readonly<Record<string, string>>): Promise<GatewayProcess> {
    const dataDir = path.resolve(this.#folder, variables.DATA_DIR ?? 'data')
    await mkdir(path.dirname(dataDir), { recursive: true })
    const { SIGNALBOX_KEY: demoKey } = variables
    const options = { dataDir, cwd: this.#folder, ...(demoKey !== undefined && { demoKey }) }
    const environment = { CONFIG: '', ...variables, PORT: '0', ROUTE_PORT: '0', DATA_DIR: dataDir }
    this.#gateway = await startGatewayProcess(environment, options)
    return this.#gateway
  }
}

/** The tool server of the guides, as `npm ci` has installed it. */
const FILES_SERVER = fileURLToPath(new URL('node_modules/.bin/mcp-server-filesystem', ROOT))

/** Commands that are found before those of the machine. */
function writeTools(folder: string): Readonly<Record<string, string>> {
  const start = `exec env -0 > '${folder}/start'`
  const program = `exec '${process.execPath}' '${PROGRAM}' "$@"`
  return {
    curl: `PATH="\${PATH#*:}"; exec curl --silent --show-error --fail-with-body "$@"`,
    npm: `[ "$*" = start ] && ${start}\necho "npm $*: guides run without a network" >&2; exit 1`,
    npx: [
      `[ "$1 $2" = '-y @modelcontextprotocol/server-filesystem' ] && shift 2 && exec '${FILES_SERVER}' "$@"`,
      '[ "$1" = signalbox ] || { echo "npx $1: guides run without a network" >&2; exit 1; }',
      `shift; [ "$*" = start ] && ${start}`,
      program,
    ].join('\n'),
  }
}
