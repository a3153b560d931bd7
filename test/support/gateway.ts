import { fileURLToPath } from 'node:url'
import OpenAI from 'openai'
import type { EventLog } from '../../core/contract/index.ts'
import { type CapturedOutput, captureOutput } from './captured-output.ts'
import { openMemoryLog } from './memory-logs.ts'
import { ROOT } from './root.ts'
import { sendRequest } from './send-request.ts'

export const ADMIN_KEY = 'an-admin-key-for-tests'

export const AS_ADMIN = { authorization: `Bearer ${ADMIN_KEY}` }

/**
 * The environment of every gateway that a test starts: free ports, no rate limits. A test overrides what it
 * needs; `CONFIG: ''` gives the settings as shipped.
 */
export const TEST_ENVIRONMENT = {
  PORT: '0',
  ROUTE_PORT: '0',
  ADMIN_KEY,
  CONFIG: fileURLToPath(new URL('test/fixtures/unlimited.yaml', ROOT)),
}

/** A gateway that serves, in this process or another. */
export interface RunningGateway {
  readonly url: string
  readonly routeUrl: string
  readonly dataDir: string
  /** The `demo` user's key. Empty if the event log had users already and no key was given. */
  readonly demoKey: string
  /** The banner and the log so far. */
  stderr(): string
  /** Resolves once `stderr()` contains the text; rejects if the gateway ends without writing it. */
  wrote(text: string): Promise<void>
  /** Resolves when more is written to stderr, or nothing will be. */
  stderrChanged(): Promise<void>
  hasEnded(): boolean
  /** Calls an endpoint with the demo key, or with the given headers. */
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>
  /** The official SDK with this gateway as its server. It does not retry. */
  openai(key?: string): OpenAI
  stop(): Promise<unknown>
}

export interface Answer {
  readonly status: number
  readonly headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: assertions read fields of any answer
  readonly body: any
}

export interface GatewayOptions {
  /** Default: a new folder. */
  readonly dataDir?: string
  /** The key to call with, for a data folder that has users already. */
  readonly demoKey?: string
  /** The folder that plugin packages and relative plugin paths are resolved from. Default: the repository. */
  readonly pluginFolder?: string
  /**
   * Default: a log in memory, which takes a fifth of a second less to start than the embedded one, or the
   * server that the environment names. `files`: the embedded one.
   */
  readonly log?: 'files' | (() => Promise<EventLog>)
  /** Receives the banner and the log, for tests that read it before the gateway serves. */
  readonly output?: CapturedOutput
}

/**
 * Starts a gateway in this process and resolves when it serves. Rejects with the error that the program would
 * print. Its log is captured, and is not part of the test's output.
 */
export async function startGateway(
  environment: Readonly<Record<string, string>> = {},
  { dataDir, demoKey, pluginFolder, log, output = captureOutput() }: GatewayOptions = {},
): Promise<RunningGateway> {
  const loaded = await loadGateway()
  const { createDemoUser, createLogger, formatDemoNotice, formatBanner, readSettings, retry, start } = loaded
  const folder = dataDir ?? (await loaded.createDataFolder({ hasLog: log === 'files' }))
  const settings = readSettings({ ...TEST_ENVIRONMENT, DATA_DIR: folder, ...environment })
  const usesMemory = log === undefined && !settings.eventstore_url
  const openLog = usesMemory ? async () => openMemoryLog(folder) : log
  const logger = createLogger(settings.log_level, { destination: output })
  const { signal } = new AbortController()
  const gateway = await start(settings, logger, signal, {
    ...(pluginFolder !== undefined && { pluginFolder }),
    ...(typeof openLog === 'function' && { openLog }),
  })
  // A leader may change between the start and this write.
  const createdKey = await retry(() => createDemoUser(gateway.state), logger, signal)
  output.write(`${formatBanner({ ...gateway, workers: 1, settings })}\n`)
  if (createdKey !== undefined) output.write(`${formatDemoNotice(gateway.baseUrl, createdKey)}\n`)
  return {
    ...createClient(gateway.baseUrl, demoKey ?? createdKey ?? ''),
    routeUrl: gateway.routeBaseUrl,
    dataDir: folder,
    stderr: output.text,
    wrote: output.contains,
    stderrChanged: output.changed,
    hasEnded: output.hasEnded,
    async stop() {
      await gateway.stop()
      output.end()
    },
  }
}

/** As `startGateway`, on the event log that a program would open: by default files in the data folder. */
export function startGatewayOnFiles(
  environment: Readonly<Record<string, string>> = {},
  options: GatewayOptions = {},
): Promise<RunningGateway> {
  return startGateway(environment, { ...options, log: 'files' })
}

/** Loaded when first needed: tests of processes use this module without the gateway's code. */
async function loadGateway() {
  const [gateway, settings, banner, demoUser, logger, retry, dataFolder] = await Promise.all([
    import('../../config/gateway/gateway.ts'),
    import('../../config/settings/settings.ts'),
    import('../../config/gateway/banner.ts'),
    import('../../config/gateway/demo-user.ts'),
    import('../../core/threads/logger.ts'),
    import('../../core/threads/retry.ts'),
    import('./data-folder.ts'),
  ])
  return {
    start: gateway.startGateway,
    readSettings: settings.readSettings,
    createDemoUser: demoUser.createDemoUser,
    formatDemoNotice: demoUser.formatDemoNotice,
    formatBanner: banner.formatBanner,
    createLogger: logger.createLogger,
    retry: retry.retryWhileUnavailable,
    createDataFolder: dataFolder.createDataFolder,
  }
}

/** How tests call a gateway at this address. */
export function createClient(
  url: string,
  demoKey: string,
): Pick<RunningGateway, 'url' | 'demoKey' | 'call' | 'openai'> {
  return {
    url,
    demoKey,
    call: (method, path, body, headers) => call(url, demoKey, method, path, body, headers),
    openai: (apiKey = demoKey) => new OpenAI({ baseURL: `${url}/v1`, apiKey, maxRetries: 0 }),
  }
}

async function call(
  url: string,
  key: string,
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const { text, ...response } = await sendRequest(url + path, {
    method,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
  return { ...response, body: text === '' ? undefined : JSON.parse(text) }
}
