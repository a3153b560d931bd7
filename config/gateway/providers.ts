import { ADAPTERS, type AdapterName } from '../../providers/adapters.ts'
import { createProviderClient, type Provider } from '../../providers/shared/client.ts'
import { isConfigured, needsSandbox, type Settings } from '../settings/settings.ts'

/** Provider ids that rules and model prefixes may always use (docs/api.md, "Models and routing modes"). */
const WELL_KNOWN_IDS = ['openai', 'anthropic', 'gemini', 'mistral', 'deepseek']

/** The base path at which the sandbox serves each wire format. */
const SANDBOX_PATHS: Readonly<Record<AdapterName, string>> = {
  openai: '/openai/v1',
  anthropic: '/anthropic',
  gemini: '/gemini',
  mistral: '/mistral',
  deepseek: '/deepseek',
}

/** The clients of all configured providers. */
export interface Providers {
  /** Configured providers, or all of them when the sandbox replaces them. */
  readonly byId: ReadonlyMap<string, Provider>
  /** Ids that may appear in rules and model prefixes, including providers that are not configured. */
  readonly known: ReadonlySet<string>
  /** Address of the sandbox; undefined when a provider is configured. */
  readonly sandboxUrl: string | undefined
  close(): Promise<void>
}

/**
 * Creates a client for every configured provider. If there is none, all clients use the sandbox at
 * `sandboxUrl`, or one that this function starts.
 */
export async function openProviders(settings: Settings, sandboxUrl?: string): Promise<Providers> {
  const { providers, timeouts } = settings
  const sandbox = needsSandbox(settings) ? await openSandbox(sandboxUrl) : undefined
  const byId = new Map<string, Provider>()
  for (const [id, row] of Object.entries(providers)) {
    if (!sandbox && !isConfigured(row)) continue
    const { format, base_url, api_key, auth, query, capabilities } = row
    const access = sandbox
      ? { baseUrl: sandbox.url + SANDBOX_PATHS[format], apiKey: 'sandbox' }
      : { baseUrl: base_url, apiKey: api_key, auth, query }
    const client = createProviderClient({ id, adapter: ADAPTERS[format], timeouts, ...access })
    byId.set(id, { client, capabilities })
  }
  return {
    byId,
    known: new Set([...WELL_KNOWN_IDS, ...Object.keys(providers)]),
    sandboxUrl: sandbox?.url,
    async close() {
      await Promise.all([...byId.values()].map(({ client }) => client.close()))
      await sandbox?.close()
    },
  }
}

async function openSandbox(url: string | undefined) {
  if (url !== undefined) return { url, close: async () => undefined }
  const { startSandbox } = await import('../../providers/sandbox/server.ts')
  return startSandbox()
}
