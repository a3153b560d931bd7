import type { PluginParts, ProviderAdapter } from '../contract/index.ts'
import { createNameOwners } from './name-owners.ts'

/** The adapters of the gateway and of plugins, by format. Complete when all plugins are set up. */
export interface AdapterRegistry {
  readonly adapters: ReadonlyMap<string, ProviderAdapter>
  /** Adds the adapters of a plugin. Throws if a format is already defined; `title` names the plugin. */
  add(title: string, parts: Pick<PluginParts, 'providers'>): void
}

export function createAdapterRegistry(builtIn: readonly ProviderAdapter[]): AdapterRegistry {
  const adapters = new Map<string, ProviderAdapter>()
  const owners = createNameOwners()
  const add: AdapterRegistry['add'] = (title, { providers = [] }) => {
    for (const adapter of providers) {
      owners.claim('wire format', adapter.format, title)
      adapters.set(adapter.format, adapter)
    }
  }
  add('the gateway', { providers: builtIn })
  return { adapters, add }
}
