import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import OpenAI from 'openai'
import { ROOT } from './root.ts'

const PROGRAM = fileURLToPath(new URL('dist/config/main.js', ROOT))

const UNLIMITED = fileURLToPath(new URL('test/fixtures/unlimited.yaml', ROOT))

export const ADMIN_KEY = 'an-admin-key-for-tests'

/**
 * Of every gateway that a test starts, unless the test says otherwise; `CONFIG: ''` is for the settings as
 * shipped.
 */
const OWN = { PORT: '0', ROUTE_PORT: '0', ADMIN_KEY, CONFIG: UNLIMITED }

/** The real process, as `npm start` runs it, on a port of its own. */
export interface RunningGateway {
  readonly url: string
  readonly routeUrl: string
  readonly dataDir: string
  readonly process: ChildProcess
  /**
   * Everything written to stderr so far: banner and log. Lines of the log may come a moment after what they
   * tell of.
   */
  stderr(): string
  /** Resolves when stderr holds it; rejects when the gateway ends without. */
  wrote(text: string): Promise<void>
  /** The `demo` user's key; only of the gateway that made the data folder. */
  readonly demoKey: string
  /** Calls an endpoint with the demo key, or another. */
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>
  /** The official SDK, pointed here. It does not retry. */
  openai(key?: string): OpenAI
  /** Resolves with the exit code, when all that it wrote has arrived. */
  stop(signal?: NodeJS.Signals): Promise<number | null>
}

export interface Answer {
  readonly status: number
  readonly headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: answers are looked into by assertions
  readonly body: any
}

/**
 * Starts the built gateway and resolves when it says that it is ready. A fresh data folder unless one is
 * given.
 */
export async function startGateway(
  environment: Record<string, string> = {},
  options: { dataDir?: string; demoKey?: string; cwd?: string; program?: string } = {},
): Promise<RunningGateway> {
  const dataDir = options.dataDir ?? (await makeFolder())
  const child = spawn(process.execPath, [options.program ?? PROGRAM, 'start'], {
    cwd: options.cwd,
    env: { ...cleanEnvironment(), ...OWN, DATA_DIR: dataDir, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let stderr = ''
  child.stderr.on('data', (text) => {
    stderr += text
  })
  const lines = createInterface(child.stdout)
  const exited = once(child, 'close') as Promise<[number | null]>

  async function wrote(text: string): Promise<void> {
    while (!stderr.includes(text)) {
      const hasEnded = await Promise.race([
        once(child.stderr, 'data').then(() => false),
        exited.then(() => true),
      ])
      if (hasEnded && !stderr.includes(text)) throw new Error(`it ended without "${text}":\n${stderr}`)
    }
  }

  const first = await Promise.race([once(lines, 'line'), exited.then(() => undefined)])
  if (first === undefined) throw new Error(`the gateway did not start:\n${stderr}`)
  const { base_url: url, route_base_url: routeUrl } = JSON.parse(first[0])
  // The banner with the key was written before that line, but to another pipe.
  await wrote('Signalbox serves at')
  const demoKey = options.demoKey ?? stderr.match(/SIGNALBOX_KEY=(\S+)/)?.[1] ?? ''

  return {
    url,
    routeUrl,
    dataDir,
    process: child,
    demoKey,
    stderr: () => stderr,
    wrote,
    call: (method, path, body, headers) => call(url, demoKey, method, path, body, headers),
    openai: (apiKey = demoKey) => new OpenAI({ baseURL: `${url}/v1`, apiKey, maxRetries: 0 }),
    async stop(signal = 'SIGTERM') {
      child.kill(signal)
      const [code] = await exited
      return code
    },
  }
}

/** Starts the program and leaves it running. */
export function spawnSignalbox(args: readonly string[], environment: Record<string, string>) {
  const env = { ...cleanEnvironment(), ...environment }
  return spawn(process.execPath, [PROGRAM, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] })
}

/** Runs the command line to its end, whatever its exit code. */
export async function runSignalbox(
  args: readonly string[],
  environment: Record<string, string> = {},
  cwd?: string,
) {
  const env = { ...cleanEnvironment(), ...environment }
  try {
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [PROGRAM, ...args], { env, cwd })
    return { code: 0, stdout, stderr }
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string }
    return { code, stdout, stderr }
  }
}

const folders: string[] = []

/** An empty folder that is removed when the tests have ended. */
export async function makeFolder(): Promise<string> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'signalbox-test-'))
  folders.push(folder)
  return folder
}

process.once('beforeExit', () => removeFolders())

async function removeFolders(): Promise<void> {
  await Promise.all(folders.splice(0).map((folder) => rm(folder, { recursive: true, force: true })))
}

async function call(
  url: string,
  key: string,
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const response = await fetch(url + path, {
    method,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
  const text = await response.text()
  return {
    status: response.status,
    headers: response.headers,
    body: text === '' ? undefined : JSON.parse(text),
  }
}

/** This process's environment without what would configure a gateway. */
function cleanEnvironment(): NodeJS.ProcessEnv {
  const { PATH, HOME, TMPDIR } = process.env
  return { PATH, HOME, ...(TMPDIR && { TMPDIR }) }
}
