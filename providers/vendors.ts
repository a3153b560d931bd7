import type { Capabilities } from './capabilities.ts'
import type { Connection } from './send.ts'

/** A provider that can be called. */
export interface Vendor {
  readonly connection: Connection
  readonly capabilities: Capabilities
}
