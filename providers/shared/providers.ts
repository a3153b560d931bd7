import {
  type Attributes,
  type Host,
  type Model,
  type ProviderAdapter,
  service,
} from '../../core/contract/index.ts'
import type { Capabilities, Catalog } from './catalog.ts'
import type { ProviderClient } from './client.ts'
import type { DeploymentPool } from './deployments.ts'

/** A configured provider. */
export interface Provider {
  /** The client of the first deployment, if there are any. */
  readonly client: ProviderClient
  readonly capabilities: Capabilities
  /** See `ProviderAdapter`. */
  readonly reads?: readonly string[] | undefined
  readonly deployments?: DeploymentPool | undefined
  /** Those of models and deployments that do not state their own. */
  readonly attributes?: Attributes
}

/** The clients of all configured providers, and their models. */
export interface Providers {
  /** Providers that requests can be sent to. Empty until `connect`. */
  readonly byId: ReadonlyMap<string, Provider>
  /** Whether requests can be sent to the provider after `connect`. */
  isAvailable(id: string): boolean
  /** Ids that may appear in rules and model prefixes, including providers that are not configured. */
  readonly known: ReadonlySet<string>
  readonly catalog: Catalog
  /** See `Host`. */
  readonly costOf: Host['costOf']
  /** Address of the sandbox; undefined when a provider is configured. */
  readonly sandboxUrl: string | undefined
  /**
   * Creates the clients, with the adapters of the gateway and of all plugins. Throws if the settings name a
   * format that none of them has, or if models have quirks that it does not know.
   */
  connect(adapters: ReadonlyMap<string, ProviderAdapter>): void
  /** Throws if models have quirks that the adapters do not know, once these are connected. */
  checkModels(models: readonly Model[]): void
  /** Fetches the credentials of clouds in the background, so that the first requests need not wait. */
  startCredentials(): void
  close(): Promise<void>
}

export const Providers = service<Providers>('providers')
