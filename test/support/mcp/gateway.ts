import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { DEFAULT_PLUGIN_NAMES } from '../../../config/settings/built-in-names.ts'
import type { RunningGateway } from '../gateway.ts'
import { startWithPlugins } from '../plugins.ts'
import { STUB_CATALOG } from './stub-catalog.ts'

type StubServer = { readonly name: string; readonly [field: string]: unknown }

const POLICY = { default: 'allow', timeoutMs: null, maxConcurrent: null }

export function atUrl(name: string, url: string, auth: object = { type: 'none' }): StubServer {
  return { name, ...POLICY, transport: { type: 'http', url, auth } }
}

export function asProgram(name: string, command: readonly string[], more: object = {}): StubServer {
  return { name, ...POLICY, transport: { type: 'program', program: { command, ...more } } }
}

/** Starts a gateway in front of these servers. All definitions of tools are served. `first`: more plugins. */
export function startToolGateway(
  servers: readonly StubServer[],
  settings = '',
  first: readonly object[] = [],
): Promise<RunningGateway> {
  const plugins = [...first, ...DEFAULT_PLUGIN_NAMES, { use: 'stub-catalog', options: { servers } }]
  return startWithPlugins({ 'stub-catalog': STUB_CATALOG }, plugins, settings)
}

export type ClientEra = 'modern' | 'session'

interface ClientOptions {
  readonly key?: string
  readonly capabilities?: object
  readonly headers?: Readonly<Record<string, string>>
}

/** The official client in one of the eras of the protocol, connected to a path of the gateway. */
export async function connectClient(
  gateway: Pick<RunningGateway, 'url' | 'demoKey'>,
  path: string,
  era: ClientEra,
  { key = gateway.demoKey, capabilities = {}, headers = {} }: ClientOptions = {},
) {
  const client = new Client(
    { name: 'test', version: '1' },
    { capabilities, versionNegotiation: { mode: era === 'modern' ? { pin: '2026-07-28' } : 'legacy' } },
  )
  const requestInit = { headers: { authorization: `Bearer ${key}`, ...headers } }
  const transport = new StreamableHTTPClientTransport(new URL(gateway.url + path), { requestInit })
  await client.connect(transport)
  return { client, transport }
}
