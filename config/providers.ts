import type { Provider } from '../core/contract/index.ts'
import { openai } from '../providers/openai/provider.ts'
import { startSandbox } from '../providers/sandbox/server.ts'
import { type Connection, createConnection } from '../providers/send.ts'
import type { ProviderSettings, Settings } from './settings.ts'

/** The wire formats, by the name that settings use. */
const FORMATS: Readonly<Record<ProviderSettings['format'], Provider>> = { openai }

/** Names that rules and prefixes may always use (interface: "Provider identifiers" P1 to P5). */
const WELL_KNOWN = ['openai', 'anthropic', 'gemini', 'mistral', 'deepseek']

/** The vendors of this process. */
export interface Providers {
  /** Those that can be called. */
  readonly connections: ReadonlyMap<string, Connection>
  /** Those that may be named. */
  readonly known: ReadonlySet<string>
  /** The stand-in's address; undefined when a vendor key is configured. */
  readonly sandboxUrl: string | undefined
  close(): Promise<void>
}

/** Connects to every vendor with a key; when there is no key at all, to a sandbox in place of all of them. */
export async function openProviders({ providers, timeouts }: Settings): Promise<Providers> {
  const hasKey = Object.values(providers).some(({ api_key }) => api_key !== undefined)
  const sandbox = hasKey ? undefined : await startSandbox()
  const connections = new Map<string, Connection>()
  for (const [id, { format, base_url, api_key }] of Object.entries(providers)) {
    const apiKey = sandbox ? 'sandbox' : api_key
    if (apiKey === undefined) continue
    const baseUrl = sandbox ? `${sandbox.url}/${format}/v1` : base_url
    connections.set(id, createConnection({ id, provider: FORMATS[format], baseUrl, apiKey, timeouts }))
  }
  return {
    connections,
    known: new Set([...WELL_KNOWN, ...Object.keys(providers)]),
    sandboxUrl: sandbox?.url,
    async close() {
      await Promise.all([...connections.values()].map((connection) => connection.close()))
      await sandbox?.close()
    },
  }
}
