import type { AdapterDeclaration, ChatFormat, PluginParts, ProviderAdapter } from '../contract/index.ts'
import { createNameOwners } from './name-owners.ts'

/** The adapters of the gateway and of plugins, by format. Complete when all plugins are set up. */
export interface AdapterRegistry {
  readonly adapters: ReadonlyMap<string, ProviderAdapter>
  /** Returns an adapter as it is, and builds that of a chat format. */
  toAdapter(declared: AdapterDeclaration): ProviderAdapter
  /** Adds the adapters of a plugin. Throws if a format is already defined; `title` names the plugin. */
  add(title: string, parts: Pick<PluginParts, 'providers'>): void
}

/** `build` builds the adapter of a chat format. */
export function createAdapterRegistry(
  builtIn: readonly ProviderAdapter[],
  build: (format: ChatFormat) => ProviderAdapter,
): AdapterRegistry {
  const adapters = new Map<string, ProviderAdapter>()
  const owners = createNameOwners()
  const toAdapter = (declared: AdapterDeclaration) => ('fields' in declared ? build(declared) : declared)
  const add: AdapterRegistry['add'] = (title, { providers = [] }) => {
    for (const adapter of providers) {
      owners.claim('wire format', adapter.format, title)
      adapters.set(adapter.format, toAdapter(adapter))
    }
  }
  add('the gateway', { providers: builtIn })
  return { adapters, toAdapter, add }
}
