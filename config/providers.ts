import { ADAPTERS, type AdapterName } from '../providers/adapters.ts'
import { createProviderClient, type Provider } from '../providers/shared/client.ts'
import { needsSandbox, type Settings } from './settings/settings.ts'

/** Names that rules and prefixes may always use (docs/api.md, "Models and routing modes" P1 to P5). */
const WELL_KNOWN = ['openai', 'anthropic', 'gemini', 'mistral', 'deepseek']

/** Where the sandbox speaks each format. */
const SANDBOX_PATHS: Readonly<Record<AdapterName, string>> = {
  openai: '/openai/v1',
  anthropic: '/anthropic',
  gemini: '/gemini',
  mistral: '/mistral',
  deepseek: '/deepseek',
}

/** The providers of this process. */
export interface Providers {
  /** Those that can be called. */
  readonly byId: ReadonlyMap<string, Provider>
  /** Those that may be named. */
  readonly known: ReadonlySet<string>
  /** The stand-in's address; undefined when a provider key is configured. */
  readonly sandboxUrl: string | undefined
  close(): Promise<void>
}

/** Connects to every provider with a key; when there is no key at all, to a sandbox in place of all of them: the one given, or its own. */
export async function openProviders(settings: Settings, sandboxUrl?: string): Promise<Providers> {
  const { providers, timeouts } = settings
  const sandbox = needsSandbox(settings) ? await openSandbox(sandboxUrl) : undefined
  const byId = new Map<string, Provider>()
  for (const [id, { format, base_url, api_key, capabilities }] of Object.entries(providers)) {
    const apiKey = sandbox ? 'sandbox' : api_key
    if (apiKey === undefined) continue
    const baseUrl = sandbox ? sandbox.url + SANDBOX_PATHS[format] : base_url
    const client = createProviderClient({ id, adapter: ADAPTERS[format], baseUrl, apiKey, timeouts })
    byId.set(id, { client, capabilities })
  }
  return {
    byId,
    known: new Set([...WELL_KNOWN, ...Object.keys(providers)]),
    sandboxUrl: sandbox?.url,
    async close() {
      await Promise.all([...byId.values()].map(({ client }) => client.close()))
      await sandbox?.close()
    },
  }
}

async function openSandbox(url: string | undefined) {
  if (url !== undefined) return { url, close: async () => undefined }
  const { startSandbox } = await import('../providers/sandbox/server.ts')
  return startSandbox()
}
