import type { Host } from '../../core/contract/index.ts'
import { costOf } from '../../core/util/cost.ts'
import { ADAPTERS, type AdapterName } from '../../providers/adapters.ts'
import { type Catalog, createCatalog } from '../../providers/shared/catalog.ts'
import { createProviderClient, type Provider } from '../../providers/shared/client.ts'
import { needsSandbox, type Settings } from '../settings/settings.ts'

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

/** The clients of all configured providers, and their models. */
export interface Providers {
  /** Providers that have a key, or all of them when the sandbox replaces them. */
  readonly byId: ReadonlyMap<string, Provider>
  /** Ids that may appear in rules and model prefixes, including providers without a key. */
  readonly known: ReadonlySet<string>
  readonly catalog: Catalog
  /** See `Host`. */
  readonly costOf: Host['costOf']
  /** Address of the sandbox; undefined when a provider key is configured. */
  readonly sandboxUrl: string | undefined
  close(): Promise<void>
}

/**
 * Creates a client for every provider that has a key. Without any key, all clients use the sandbox at
 * `sandboxUrl`, or one that this function starts.
 */
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
  const catalog = createCatalog(settings.models, (provider) => byId.has(provider))
  return {
    byId,
    catalog,
    costOf(usage, { entry, model: name, provider }) {
      const model = entry ?? catalog.find(name, provider)
      return model && costOf(model, usage)
    },
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
