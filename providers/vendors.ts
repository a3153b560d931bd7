import type { Capabilities } from './capabilities.ts'
import type { ProviderClient } from './send.ts'

/** A provider that can be called. */
export interface Provider {
  readonly client: ProviderClient
  readonly capabilities: Capabilities
}
